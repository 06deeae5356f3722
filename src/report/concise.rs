//! One line per finding: `path:line:col: error[rule] message`; of what a tool rendered, the file that
//! a person edits.

use std::fmt::Write as _;

use crate::finding::Finding;
use crate::source::SourceSet;

use super::escape::visible;
use super::look::{Look, Tone};
use super::place::told;

/// Writes one line per finding.
#[must_use]
pub fn concise(set: &SourceSet, findings: &[Finding], look: Look) -> String {
    let mut out = String::new();
    for finding in findings {
        let told = told(set, &finding.primary);
        out.push_str(&look.paint(Tone::Strong, &visible(&told.path)));
        if let Some(place) = told.place {
            // Writing to a string cannot fail.
            let _ = write!(out, ":{}:{}", place.start.line, place.start.column);
        }
        let severity = format!("{}[{}]", finding.severity.as_str(), finding.rule);
        out.push_str(": ");
        out.push_str(&look.paint(finding.severity.into(), &severity));
        out.push(' ');
        out.push_str(&visible(&finding.message));
        if let Some(rendered) = told.shown_rendered() {
            let _ = write!(out, " (rendered: {})", visible(&rendered));
        }
        out.push('\n');
    }
    out
}
