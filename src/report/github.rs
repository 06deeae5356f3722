//! Workflow commands: what GitHub shows as annotations on the lines of a pull request.

use std::fmt::Write as _;

use crate::finding::{Finding, Severity};

use super::account::account;
use super::ci_log::without_marks;
use super::escape::{visible, visible_lines};
use super::not_shown::left_out_sentences;
use super::place::{region, told_path};
use super::results::{Results, WORST_FIRST};
use super::summary::counted;

/// The runner keeps this many annotations of each type and step and drops the rest without a
/// word (actions/runner, `src/Runner.Worker/ExecutionContext.cs`).
const PER_TYPE: usize = 10;

/// Writes one command per finding, the worst and surest first, as many as GitHub shows; says how
/// many are left out, and counts what is not listed in lines that are not commands.
#[must_use]
pub fn github(results: &Results<'_>) -> String {
    let findings = results.worst_first();
    let mut out = String::new();
    for severity in WORST_FIRST {
        let of_type: Vec<&Finding> = findings
            .iter()
            .copied()
            .filter(|finding| finding.severity == severity)
            .collect();
        for finding in of_type.iter().take(PER_TYPE) {
            out.push_str(&command(results, finding));
        }
        let more = of_type.len().saturating_sub(PER_TYPE);
        if more > 0 {
            let more = counted(more, &format!("more {}", severity.as_str()));
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{more} without annotation: GitHub shows {PER_TYPE} of a type"
            );
        }
    }
    for sentence in left_out_sentences(&results.outcome.summary) {
        out.push_str(&sentence);
        out.push('\n');
    }
    out
}

fn command(results: &Results<'_>, finding: &Finding) -> String {
    let path = results
        .root
        .path(results.set, &told_path(results.set, &finding.primary));
    let mut properties = format!("file={}", file(&path));
    if let Some(region) = region(results.set, &finding.primary) {
        let (line, column, end) = (region.line, region.column, region.end_column);
        // Writing to a string cannot fail.
        let _ = write!(
            properties,
            ",line={line},endLine={line},col={column},endColumn={end}"
        );
    }
    let title = property(&format!("meshprobe: {}", finding.rule));
    let text: Vec<String> = lines(results, finding)
        .iter()
        .map(|line| data(&visible(line)))
        .collect();
    let command = format!(
        "::{} {properties},title={title}::{}\n",
        word(finding.severity),
        text.join("%0A")
    );
    // Other systems read commands within the line. GitHub shows such a path, but finds no file by it.
    without_marks(&command).into_owned()
}

/// What is wrong, then the lines that decide: an annotation has no other room for them.
fn lines(results: &Results<'_>, finding: &Finding) -> Vec<String> {
    let mut lines = account(finding);
    let related = finding.related.iter().map(|label| {
        let path = results
            .root
            .path(results.set, &told_path(results.set, label));
        let line = region(results.set, label).map(|region| format!(":{}", region.line));
        format!("{path}{}: {}", line.unwrap_or_default(), label.message)
    });
    lines.splice(1..1, related);
    lines
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// Escapes as actions/toolkit does (`packages/core/src/command.ts`).
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}

/// A path has to be that of the file, so its line breaks and tabs stay; no other control character
/// goes to the log.
fn file(path: &str) -> String {
    let path = data(&visible_lines(path));
    path.replace(':', "%3A").replace(',', "%2C")
}
