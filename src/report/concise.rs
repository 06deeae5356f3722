//! One line per finding: `path:line:col: error[rule] message`. The path of a rendered finding is that of its source file.

use std::fmt::Write as _;

use meshprobe_mesh::finding::Finding;
use meshprobe_tree::source::SourceSet;

use super::escape::escape_control;
use super::source_location::source_location;
use crate::report::terminal_style::{TerminalStyle, Tone};

/// Writes one line per finding.
#[must_use]
pub fn concise(set: &SourceSet, findings: &[Finding], style: TerminalStyle) -> String {
    let mut out = String::new();
    for finding in findings {
        let location = source_location(set, &finding.primary);
        out.push_str(&style.paint(Tone::Strong, &escape_control(&location.path)));
        if let Some(place) = location.place {
            // Writing to a string cannot fail.
            let _ = write!(out, ":{}:{}", place.start.line, place.start.column);
        }
        let severity = format!("{}[{}]", finding.severity.as_str(), finding.rule);
        out.push_str(": ");
        out.push_str(&style.paint(finding.severity.into(), &severity));
        out.push(' ');
        out.push_str(&escape_control(&finding.message));
        if let Some(rendered) = location.shown_rendered() {
            let _ = write!(out, " (rendered: {})", escape_control(&rendered));
        }
        if let Some(environments) = finding.environments_line() {
            let _ = write!(out, " (in: {})", escape_control(&environments));
        }
        out.push('\n');
    }
    out
}
