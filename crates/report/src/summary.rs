//! The last lines of a report for people: counts of files, of findings per rule, and of what is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::{Applicability, Finding, RuleId, Severity, names_and_more};
use meshprobe_mesh::mesh::{Mesh, Version, newest_proven};
use meshprobe_tree::source::{Role, SourceSet};
use serde::Serialize;

use super::escape::escape_control;
use super::not_judged::{COMMANDS_ABOVE, not_judged_lines, not_judged_suffix, nothing_judged};
use super::report_root::source_path;
use super::terminal_style::{TerminalStyle, Tone};
use super::text::counted;
use meshprobe_engine::engine::{MissingFacts, Outcome, RewriteCounts, Summary, unread_context};

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
        let parts = severity_counts(summary);
        let parts = parts
            .into_iter()
            .map(|(tone, text)| style.paint(tone, &text));
        let parts: Vec<String> = parts.collect();
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
    for sentence in left_out_sentences(set, summary) {
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

/// Returns the number of findings of each severity that occurs.
pub(super) fn severity_counts(summary: &Summary) -> Vec<(Tone, String)> {
    let counts = [
        (summary.errors, Severity::Error),
        (summary.warnings, Severity::Warning),
        (summary.notes, Severity::Note),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let text =
        |(count, severity): (usize, Severity)| (severity.into(), counted(count, severity.as_str()));
    counts.map(text).collect()
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

/// The maximum number of files that a sentence names.
const NAMED: usize = 3;

/// Returns phrases with the number of findings that are not shown.
pub(super) fn not_shown(summary: &Summary) -> Vec<String> {
    let parts = [
        (summary.suppressed, "suppressed"),
        (summary.ignored, "ignored by the settings"),
        (summary.hidden, "below `--min-severity`"),
    ];
    parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{} {reason}", counted(count, "finding")))
        .collect()
}

/// Returns sentences about findings that a report does not show, or shows with another severity, and about missing facts.
#[must_use]
pub fn left_out_sentences(set: &SourceSet, summary: &Summary) -> Vec<String> {
    let not_shown = not_shown(summary);
    let not_shown =
        (!not_shown.is_empty()).then(|| format!("Not shown: {}.", not_shown.join(", ")));
    not_shown.into_iter().chain(milder(set, summary)).collect()
}

/// Returns sentences about findings with a changed severity, about missing facts, and about facts of a configuration.
pub(super) fn milder(set: &SourceSet, summary: &Summary) -> Vec<String> {
    let changed = counted(summary.severity_changed, "finding");
    let unread = counted(summary.context.unread, "file");
    let sentences = [
        (
            summary.severity_changed,
            format!("Severity changed by the settings: {changed}."),
        ),
        (
            summary.context.unread,
            format!(
                "Facts may be missing: {unread} of the repository, outside of the given paths, cannot be read{}.",
                unread_names(set)
            ),
        ),
    ];
    let configured = summary.configured.iter().map(|configured| {
        let (file, count) = (escape_control(&configured.file), configured.predictions);
        let predictions = counted(count, "prediction");
        let sentence = format!(
            "Facts in the configuration `{file}`: {predictions} would have another outcome without them."
        );
        (count, sentence)
    });
    sentences
        .into_iter()
        .chain(configured)
        .filter(|(count, _)| *count > 0)
        .map(|(_, sentence)| sentence)
        .collect()
}

/// Returns the names of the files that may contain facts and cannot be read, after a colon.
fn unread_names(set: &SourceSet) -> String {
    let files = unread_context(set);
    let names = files
        .iter()
        .map(|file| format!("`{}`", escape_control(&file.path)));
    let names = names_and_more(names, NAMED);
    let hint = match files.len() > NAMED {
        true => " (`--verbose` lists all files)",
        false => "",
    };
    format!(": {names}{hint}")
}

/// Returns the number of files with findings, and what was judged, such as "2 of 12 files (3 workloads, 6 handlers)".
/// Without findings, it is the number of files that were checked: "12 files (3 workloads, 6 handlers)".
pub(super) fn counted_files(set: &SourceSet, outcome: &Outcome) -> String {
    let summary = &outcome.summary;
    format!(
        "{} ({}, {}{})",
        files(set, outcome),
        counted(summary.workloads, "workload"),
        counted(summary.handlers, "handler"),
        not_judged_suffix(outcome),
    )
}

fn files(set: &SourceSet, outcome: &Outcome) -> String {
    let checked = outcome.summary.files.read;
    let findings = outcome.findings.iter();
    let with_findings: BTreeSet<Arc<str>> = findings
        .map(|finding| source_path(set, &finding.primary))
        .collect();
    // A finding may be in a file that the user did not give, such as the base of an overlay.
    let is_checked = |path: &Arc<str>| set.file(path).is_some_and(|file| file.role == Role::Target);
    match with_findings.len() {
        0 => counted(checked, "file"),
        count if count < checked && with_findings.iter().all(is_checked) => {
            format!("{count} of {checked} files")
        }
        count => counted(count, "file"),
    }
}

/// Returns the note that a release of `mesh` is newer than every release that was compared with meshprobe.
#[must_use]
pub fn unproven_release_note(mesh: Mesh, release: Version) -> String {
    let title = mesh.title();
    let proven = newest_proven(mesh).map_or_else(String::new, |proven| {
        format!(
            " {}, the newest release that was compared with meshprobe",
            proven.release
        )
    });
    format!("note: {title} {release} is newer than{proven}; predictions may be wrong")
}

/// Returns a sum such as "1 of 6 workloads rewritten, 2 refused, 3 need nothing". `did` is the participle.
#[must_use]
pub fn rewrite_sum(counts: &RewriteCounts, did: &str) -> String {
    let only_previews = counts.previewed > 0 && counts.changed == 0;
    let (first, did, previewed) = if only_previews {
        (counts.previewed, "previewed", 0)
    } else {
        (counts.changed, did, counts.previewed)
    };
    let workloads = counted(counts.workloads, "workload");
    let mut sum = format!("{first} of {workloads} {did}");
    let need = if counts.unneeded == 1 {
        "needs nothing"
    } else {
        "need nothing"
    };
    for (count, what) in [
        (previewed, "previewed"),
        (counts.unwritten, "not written"),
        (counts.refused, "refused"),
        (counts.opted_out, "opted out"),
        (counts.unneeded, need),
    ] {
        if count > 0 {
            sum.push_str(&format!(", {count} {what}"));
        }
    }
    sum
}

/// The number of findings of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// The id of the rule.
    pub rule: RuleId,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Of these: findings with a fix that can be applied, safe or unsafe.
    pub fixable: usize,
    /// Suppressed findings, which the other counts do not include.
    pub suppressed: usize,
}

impl RuleCount {
    const fn reported(&self) -> usize {
        self.errors + self.warnings + self.notes
    }
}

/// Counts the findings of each rule, the most frequent first.
#[must_use]
pub fn statistics(outcome: &Outcome) -> Vec<RuleCount> {
    let mut counts: BTreeMap<RuleId, RuleCount> = BTreeMap::new();
    for finding in outcome.all() {
        let count = counts.entry(finding.rule).or_insert(RuleCount {
            rule: finding.rule,
            errors: 0,
            warnings: 0,
            notes: 0,
            fixable: 0,
            suppressed: 0,
        });
        if finding.suppressed.is_some() {
            count.suppressed += 1;
            continue;
        }
        match finding.severity {
            Severity::Error => count.errors += 1,
            Severity::Warning => count.warnings += 1,
            Severity::Note => count.notes += 1,
        }
        let fix = finding.fix.as_ref();
        let is_fixable = fix.is_some_and(|fix| !fix.applicability.is_display_only());
        count.fixable += usize::from(is_fixable);
    }
    let mut counts: Vec<RuleCount> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.reported()));
    counts
}

/// Returns the counts as a table.
#[must_use]
pub fn statistics_table(counts: &[RuleCount], style: TerminalStyle) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let width = counts
        .iter()
        .map(|count| count.rule.as_str().len())
        .max()
        .unwrap_or_default()
        .max("RULE".len());
    let line = |rule: &str, numbers: [String; 5]| {
        let numbers = numbers.map(|cell| format!("  {cell:>10}"));
        format!("{rule:width$}{}", numbers.concat())
    };
    let headings = ["ERRORS", "WARNINGS", "NOTES", "FIXABLE", "SUPPRESSED"];
    let heading = line("RULE", headings.map(str::to_owned));
    let mut out = style.paint(Tone::Strong, &heading) + "\n";
    for count in counts {
        let numbers = [
            count.errors,
            count.warnings,
            count.notes,
            count.fixable,
            count.suppressed,
        ];
        out.push_str(&line(
            count.rule.as_str(),
            numbers.map(|number| number.to_string()),
        ));
        out.push('\n');
    }
    out
}
