//! The last line of a report for people.

use crate::engine::{Gaps, Outcome};
use crate::finding::{Applicability, Finding};

use super::look::{Look, Tone};
use super::not_shown::{milder, not_shown};

/// What the summary may advise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// `--fix` can still be given.
    Fixable,
    /// So many findings were cured.
    Fixed(usize),
    /// Nothing to advise.
    Nothing,
}

/// Says in one or two lines what was found and what can be fixed.
#[must_use]
pub fn summary_line(outcome: &Outcome, hint: Hint, look: Look) -> String {
    let summary = &outcome.summary;
    let mut out = if outcome.findings.is_empty() {
        look.paint(Tone::Good, "No findings")
    } else {
        let parts = [
            (summary.errors, "error", Tone::Error),
            (summary.warnings, "warning", Tone::Warning),
            (summary.notes, "note", Tone::Note),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, noun, tone)| look.paint(tone, &counted(count, noun)))
            .collect();
        format!("Found {}", parts.join(", "))
    };
    out.push_str(&format!(
        " in {} ({}, {}).\n",
        counted(summary.files.read, "file"),
        counted(summary.workloads, "workload"),
        counted(summary.handlers, "handler"),
    ));
    let not_shown = not_shown(summary);
    if !not_shown.is_empty() {
        out.push_str(&format!("Not shown: {}.\n", not_shown.join(", ")));
    }
    for sentence in milder(summary) {
        out.push_str(&sentence);
        out.push('\n');
    }
    out.push_str(&not_judged(summary.gaps));
    if summary.unseen > 0 {
        out.push_str(&format!(
            "{} not judged: the workloads are not in the files read; pipe the build in \
             (`kustomize build DIR | meshprobe check -`).\n",
            counted(summary.unseen, "kustomization"),
        ));
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

/// Names what the tree does not say, and what to do about each.
fn not_judged(gaps: Gaps) -> String {
    let lines = [
        (
            gaps.mesh,
            "the tree does not say whether a mesh is there; add the Namespace manifests or say \
             `--assume injection=all|none`",
        ),
        (
            gaps.value,
            "another tool fills a value in that decides; give the rendered manifests",
        ),
        (
            gaps.authorization,
            "an AuthorizationPolicy asks for what only the running mesh knows, such as the address \
             of the kubelet; look it up there",
        ),
        (
            gaps.running,
            "what the mesh demands of the kubelet's plain text stands in no manifest; look at the \
             mutual TLS and the routes of the running mesh",
        ),
    ];
    let lines = lines.iter().filter(|(count, _)| *count > 0);
    let lines = lines.map(|(count, why)| {
        let workloads = counted(*count, "workload");
        format!("{workloads} not judged: {why} (`predict --explain` shows which).\n")
    });
    lines.collect()
}

fn fixable(findings: &[Finding]) -> String {
    let count = |wanted| {
        let fixes = findings.iter().filter_map(|finding| finding.fix.as_ref());
        fixes.filter(|fix| fix.applicability == wanted).count()
    };
    match (count(Applicability::Safe), count(Applicability::Unsafe)) {
        (0, 0) => String::new(),
        (safe, 0) => format!("{safe} fixable with `--fix`.\n"),
        (0, other) => format!("{other} fixable with `--fix --unsafe-fixes`.\n"),
        (safe, other) => {
            format!("{safe} fixable with `--fix`, {other} more with `--fix --unsafe-fixes`.\n")
        }
    }
}

/// Says `1 file` or `2 files`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
