//! What runs pods and is not judged, for summaries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use meshprobe_mesh::finding::names_and_more;
use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_predict::context::{Detail, NotJudged, NotJudgedReason};
use meshprobe_tree::source::{SourceSet, paths};

use super::escape::escape_control;
use super::text::counted;
use meshprobe_engine::engine::{Outcome, source_location};

/// The sentence after the lines of [`not_judged_lines`].
pub(super) const COMMANDS_ABOVE: &str = "The commands above would judge the workloads.";

/// The maximum number of entries and files that a summary names.
const NAMED: usize = 10;

/// The length of a message from which its causes are shortened.
const LONG: usize = 400;

/// Returns the counts by reason, such as "2 HelmReleases, 1 chart"; empty if everything is judged.
pub(super) fn not_judged_counts(outcome: &Outcome) -> String {
    let mut counts: BTreeMap<NotJudgedReason, usize> = BTreeMap::new();
    let mut workloads = 0;
    for found in &outcome.not_judged {
        if found.reason.is_workload() {
            workloads += 1;
        } else {
            *counts.entry(found.reason).or_default() += 1;
        }
    }
    let mut parts: Vec<String> = counts
        .into_iter()
        .map(|(reason, count)| counted(count, reason.noun()))
        .collect();
    if workloads > 0 {
        parts.push(format!(
            "{} without a verdict",
            counted(workloads, "workload")
        ));
    }
    parts.join(", ")
}

/// Returns the addition to the counts of a summary: what is not judged, by reason; empty if everything is judged.
pub(super) fn not_judged_suffix(outcome: &Outcome) -> String {
    let counts = not_judged_counts(outcome);
    if counts.is_empty() {
        String::new()
    } else {
        format!("; not judged: {counts}")
    }
}

/// Returns a line for each thing that is not judged, with its place and what to do to judge it. Workloads without a
/// verdict are shown in other ways.
#[must_use]
pub fn not_judged_lines(set: &SourceSet, not_judged: &[NotJudged]) -> Vec<String> {
    let (named, filled_in) = with_one_filled_in(named(not_judged));
    let mut lines: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|(found, count)| {
            let location = source_location(set, &found.place);
            let line = location.place.map_or(1, |place| place.start.line);
            let message = match count {
                1 => shortened(found),
                count => format!("the first of {count} templates in its folder").into(),
            };
            escape_control(&format!(
                "Not judged: {}:{line}: {message}: {}",
                location.path, found.help
            ))
            .into_owned()
        })
        .collect();
    let more = named.len().saturating_sub(NAMED) + filled_in;
    if more > 0 {
        lines.push(format!(
            "Not judged: {more} more (`--output-format json` lists all)"
        ));
    }
    lines
}

/// Returns what a summary names, each with a count: the templates of a folder are named once.
fn named(not_judged: &[NotJudged]) -> Vec<(&NotJudged, usize)> {
    let mut folders: HashMap<&str, usize> = HashMap::new();
    let mut named: Vec<(&NotJudged, usize)> = Vec::new();
    let found = not_judged
        .iter()
        .filter(|found| !found.reason.is_workload());
    for found in found {
        if found.reason == NotJudgedReason::Template {
            let folder = paths::folder(&found.place.path);
            let index = *folders.entry(folder).or_insert(named.len());
            if let Some((_, count)) = named.get_mut(index) {
                *count += 1;
                continue;
            }
        }
        named.push((found, 1));
    }
    named
}

/// Returns the entries with only the first of the deployed folders whose paths another tool fills in, and the number of
/// the others: their lines would be alike.
fn with_one_filled_in(named: Vec<(&NotJudged, usize)>) -> (Vec<(&NotJudged, usize)>, usize) {
    let all = named.len();
    let mut has_one = false;
    let is_shown = |(found, _): &(&NotJudged, usize)| {
        let is_filled_in = found.detail == Detail::PathFilledIn;
        !(is_filled_in && std::mem::replace(&mut has_one, true))
    };
    let shown: Vec<_> = named.into_iter().filter(is_shown).collect();
    let others = all - shown.len();
    (shown, others)
}

/// Returns the message with only its first causes if it is long. JSON reports contain all.
fn shortened(found: &NotJudged) -> Cow<'_, str> {
    let message = found.place.message.as_str();
    let Detail::Causes(start, causes) = &found.detail else {
        return Cow::Borrowed(message);
    };
    let mut size = start.len();
    let shown = causes
        .iter()
        .take_while(|cause| {
            size += cause.len();
            size <= LONG
        })
        .count()
        .max(1);
    match causes.split_at_checked(shown) {
        Some((first, rest)) if message.len() > LONG && !rest.is_empty() => {
            let first = first.join("; ");
            format!("{start}{first}; and {} more", rest.len()).into()
        }
        _ => Cow::Borrowed(message),
    }
}

/// Returns the message with what is not judged, for reports without a field for it; empty if everything is judged.
#[must_use]
pub fn not_judged_message(outcome: &Outcome) -> String {
    let sentences = nothing_judged(
        outcome,
        "`--output-format json` lists the commands that would judge the workloads.",
    );
    if sentences.is_empty() {
        return match not_judged_counts(outcome) {
            counts if counts.is_empty() => String::new(),
            counts => format!("Not judged: {counts} (`--output-format json` lists all)"),
        };
    }
    let suffix = not_judged_suffix(outcome);
    format!(
        "Nothing was judged: no workloads{suffix}. {}",
        sentences.join(" ")
    )
}

/// Returns why a run fails although its findings may not: the verdicts that are required and missing.
#[must_use]
pub fn missing_verdicts(outcome: &Outcome, required: RequiredVerdicts) -> Option<String> {
    let nothing = "the files contain no workload that can be judged";
    let counts = not_judged_counts(outcome);
    match required {
        RequiredVerdicts::One if outcome.summary.judges_nothing() => {
            Some(format!("{nothing}, but `--require-workloads` requires one"))
        }
        RequiredVerdicts::All if !counts.is_empty() => Some(format!(
            "not everything is judged, and `not-judged` fails the run: {counts}"
        )),
        RequiredVerdicts::All if outcome.summary.judges_nothing() => {
            Some(format!("{nothing}, and `not-judged` fails the run"))
        }
        RequiredVerdicts::None | RequiredVerdicts::One | RequiredVerdicts::All => None,
    }
}

/// Returns sentences that say which files were read if they contain nothing to judge, and what to try; none if errors or
/// warnings show that the run was not green. `commands` is the sentence that refers to the commands of
/// [`not_judged_lines`], for a run that has some.
pub(super) fn nothing_judged(outcome: &Outcome, commands: &'static str) -> Vec<String> {
    let (files, summary) = (&outcome.files_without_workloads, &outcome.summary);
    if !summary.judges_nothing() || summary.errors + summary.warnings > 0 {
        return Vec::new();
    }
    let mut advice = if files.is_empty() {
        "No file was read: all given files are excluded."
    } else if outcome.not_judged.is_empty() {
        "Pass the files that contain the workloads, or the output of what renders them: `kustomize build DIR | \
         meshprobe check --context . -`, `helm template CHART | meshprobe check --context . -`."
    } else if outcome.not_judged.iter().any(has_command) {
        commands
    } else {
        ""
    }
    .to_owned();
    outcome.context_option.apply_to(&mut advice);
    let names = files
        .iter()
        .map(|path| format!("`{}`", escape_control(path)));
    let names = names_and_more(names, NAMED);
    let read = (!files.is_empty())
        .then(|| format!("None of the files that were read contains a workload: {names}."));
    let advice = (!advice.is_empty()).then_some(advice);
    let facts = outcome.fact_without_workloads.as_ref().map(|fact| {
        format!(
            "The files contain facts about other workloads, such as {}: `meshprobe diff` shows which probes a change of them \
             breaks (for pre-commit, the hook `meshprobe-diff`).",
            escape_control(fact)
        )
    });
    read.into_iter().chain(advice).chain(facts).collect()
}

/// Returns whether the help contains a whole command that would judge what is not judged. What renders it depends on the
/// tree.
fn has_command(found: &NotJudged) -> bool {
    let is_rendered_elsewhere = found.help.starts_with("render it");
    found.reason != NotJudgedReason::Template
        && !is_rendered_elsewhere
        && found.help.contains("meshprobe check --")
}
