//! One line per finding: `path:line:col: error[rule] message`.

use std::fmt::Write as _;

use crate::finding::Finding;
use crate::source::SourceSet;

use super::escape::visible;
use super::look::{Look, Tone};
use super::place::place;

/// Writes one line per finding.
#[must_use]
pub fn concise(set: &SourceSet, findings: &[Finding], look: Look) -> String {
    let mut out = String::new();
    for finding in findings {
        let path = visible(&finding.primary.path);
        out.push_str(&look.paint(Tone::Strong, &path));
        if let Some(place) = place(set, &finding.primary) {
            // Writing to a string cannot fail.
            let _ = write!(out, ":{}:{}", place.start.line, place.start.column);
        }
        let severity = format!("{}[{}]", finding.severity.as_str(), finding.rule);
        out.push_str(": ");
        out.push_str(&look.paint(finding.severity.into(), &severity));
        out.push(' ');
        out.push_str(&visible(&finding.message));
        out.push('\n');
    }
    out
}
