//! Workflow commands, which GitHub shows as annotations on the lines of a pull request.

use std::fmt::Write as _;

use meshprobe_mesh::finding::{Finding, Severity};

use super::escape::{escape_control, escape_control_in_lines, escape_inline_commands};
use super::not_judged::missing_verdicts;
use super::report_root::line_region;
use super::results::{Results, WORST_FIRST};
use super::summary::left_out_sentences;
use super::text::{counted, finding_lines, related_lines};

/// The number of annotations per type and step that the runner keeps; it silently drops the others
/// (actions/runner, `src/Runner.Worker/ExecutionContext.cs`).
const PER_TYPE: usize = 10;

/// Returns one command per finding, by severity and certainty, as many as GitHub shows. Lines that are not commands count
/// the findings without an annotation, and the findings that are not reported.
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
                "{more} without annotation; GitHub shows {PER_TYPE} annotations of each type"
            );
        }
    }
    if let Some(missing) = missing_verdicts(results.outcome, results.required) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "::error title=meshprobe::{}", data(&missing));
    }
    for note in results.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "note: {}",
            escape_inline_commands(&escape_control(note))
        );
    }
    for sentence in left_out_sentences(results.set, &results.outcome.summary) {
        out.push_str(&sentence);
        out.push('\n');
    }
    out
}

fn command(results: &Results<'_>, finding: &Finding) -> String {
    let path = results.places().path(&finding.primary);
    let mut properties = format!("file={}", file(&path));
    if let Some(region) = line_region(results.set, &finding.primary) {
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
        .map(|line| data(&escape_control(line)))
        .collect();
    let command = format!(
        "::{} {properties},title={title}::{}\n",
        word(finding.severity),
        text.join("%0A")
    );
    // Other CI systems execute commands within the line. GitHub shows an escaped path, but does not find the file.
    escape_inline_commands(&command).into_owned()
}

/// Returns the lines of a finding with its related locations, for which an annotation has no fields.
fn lines(results: &Results<'_>, finding: &Finding) -> Vec<String> {
    let mut lines = finding_lines(finding);
    let related = related_lines(finding).into_iter();
    lines.splice(1..1, related.map(|lines| lines.text(results)));
    lines
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// Escapes text like actions/toolkit (`packages/core/src/command.ts`).
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&escape_control(text))
        .replace(':', "%3A")
        .replace(',', "%2C")
}

/// Escapes a path. Line breaks and tabs are kept, because the path must match the file; other control characters are
/// escaped.
fn file(path: &str) -> String {
    let path = data(&escape_control_in_lines(path));
    path.replace(':', "%3A").replace(',', "%2C")
}
