//! The last lines of a report for people.

use meshprobe_mesh::finding::{Applicability, Finding};
use meshprobe_tree::source::SourceSet;

use super::counted::counted;
use super::counted_files::counted_files;
use super::not_judged::{COMMANDS_ABOVE, not_judged_lines, nothing_judged};
use super::not_shown::{milder, not_shown};
use super::unproven_release::unproven_release_note;
use crate::engine::{MissingFacts, Outcome};
use crate::report::terminal_style::{TerminalStyle, Tone};

/// The hint about fixes in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The number of fixable findings.
    Fixable,
    /// This number of findings was fixed.
    Fixed(usize),
    /// No hint.
    Nothing,
}

/// Returns the number of findings, of what was checked and what was not, and of what can be fixed.
#[must_use]
pub fn summary_line(
    set: &SourceSet,
    outcome: &Outcome,
    hint: Hint,
    style: TerminalStyle,
) -> String {
    let summary = &outcome.summary;
    let mut out = if outcome.findings.is_empty() && summary.judges_nothing() {
        style.paint(Tone::Warning, "Nothing was judged")
    } else if outcome.findings.is_empty() {
        style.paint(Tone::Good, "No findings")
    } else {
        let parts = [
            (summary.errors, "error", Tone::Error),
            (summary.warnings, "warning", Tone::Warning),
            (summary.notes, "note", Tone::Note),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, noun, tone)| style.paint(tone, &counted(count, noun)))
            .collect();
        format!("Found {}", parts.join(", "))
    };
    out.push_str(&format!(" in {}.\n", counted_files(set, outcome)));
    for line in not_judged_lines(set, &outcome.not_judged)
        .into_iter()
        .chain(nothing_judged(outcome, COMMANDS_ABOVE))
    {
        out.push_str(&line);
        out.push('\n');
    }
    let not_shown = not_shown(summary);
    if !not_shown.is_empty() {
        out.push_str(&format!("Not shown: {}.\n", not_shown.join(", ")));
    }
    for sentence in milder(set, summary) {
        out.push_str(&sentence);
        out.push('\n');
    }
    out.push_str(&without_verdict(summary.missing_facts));
    if let Some((mesh, release)) = summary.unproven_release {
        out.push_str(&unproven_release_note(mesh, release));
        out.push('\n');
    }
    match hint {
        Hint::Fixed(count) if count > 0 => {
            out.push_str(&format!("Fixed {}.\n", counted(count, "finding")))
        }
        Hint::Fixable => out.push_str(&fixable(&outcome.findings)),
        _ => {}
    }
    out
}

/// Returns a sentence for each kind of missing fact, with what to do.
fn without_verdict(missing_facts: MissingFacts) -> String {
    let lines = [
        (
            missing_facts.mesh,
            "the tree does not show whether the pods are in a mesh; add the Namespace manifests, or \
             set `--assume injection=all|none`",
        ),
        (
            missing_facts.value,
            "a value that decides is a placeholder; check the rendered manifests",
        ),
        (
            missing_facts.authorization,
            "an AuthorizationPolicy depends on a value of the running mesh, such as the address of \
             the kubelet; check it in the cluster",
        ),
        (
            missing_facts.running,
            "the manifests do not show whether the mesh accepts the plain text of the kubelet; check \
             the mutual TLS and the routes of the running mesh",
        ),
    ];
    lines
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| {
            let workloads = counted(*count, "workload");
            format!("{workloads} without a verdict: {reason} (`predict --explain` shows which).\n")
        })
        .collect()
}

fn fixable(findings: &[Finding]) -> String {
    let count = |is_wanted: fn(&Applicability) -> bool| {
        findings
            .iter()
            .filter_map(|finding| finding.fix.as_ref())
            .filter(|fix| is_wanted(&fix.applicability))
            .count()
    };
    match (
        count(Applicability::is_safe),
        count(Applicability::is_unsafe),
    ) {
        (0, 0) => String::new(),
        (safe, 0) => format!("{safe} fixable with `--fix`.\n"),
        (0, other) => format!("{other} fixable with `--fix --unsafe-fixes`.\n"),
        (safe, other) => {
            format!("{safe} fixable with `--fix`, {other} more with `--fix --unsafe-fixes`.\n")
        }
    }
}
