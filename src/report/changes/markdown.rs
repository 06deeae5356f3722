//! Changes as Markdown, for a comment on a pull request or the summary of a job.

use crate::diff::{Class, Group, groups};
use crate::report::counted::counted;
use crate::report::markdown::prose;

use super::Changes;
use super::words::summary;

/// The first line, by which a workflow finds its earlier comment to update it.
const MARKER: &str = "<!-- meshprobe diff -->\n";

/// The maximum number of rows of a table; the others are counted.
const ROWS: usize = 50;

/// Returns all changes, in at most `limit` bytes. The text starts with a comment by which a workflow finds it again.
#[must_use]
pub fn markdown(changes: &Changes<'_>, limit: usize) -> String {
    let mut out = format!(
        "{MARKER}### meshprobe: {}\n\n{} between {} and {}.\n",
        verdict(changes),
        summary(changes.comparison),
        prose(changes.before.name),
        prose(changes.after.name),
    );
    let footer = footer(changes);
    let mut left_out = 0;
    for group in groups(&changes.comparison.changes) {
        let block = block(changes, &group);
        if out.len() + block.len() + footer.len() + 100 > limit {
            left_out += group.changes.len();
            continue;
        }
        out.push_str(&block);
    }
    if left_out > 0 {
        out.push_str(&format!(
            "\n{left_out} more changes do not fit; see the log of the job.\n"
        ));
    }
    out + &footer
}

fn verdict(changes: &Changes<'_>) -> &'static str {
    let comparison = changes.comparison;
    if comparison.has(Class::Regression) || comparison.has(Class::Added) {
        "this change breaks probes"
    } else if changes.compares_nothing() {
        "nothing was compared"
    } else if !comparison.changes.is_empty() {
        "no probe breaks"
    } else if changes.leaves_something_out() {
        "no judged probe changes"
    } else {
        "no probe changes"
    }
}

fn block(changes: &Changes<'_>, group: &Group<'_>) -> String {
    let title = group.class.as_str();
    if let Some((change, finding)) = group
        .changes
        .first()
        .and_then(|change| Some((change, change.finding()?)))
    {
        let place = code(&changes.place(change));
        let rule = finding.rule;
        return format!(
            "\n**{title}** `{rule}` {place}: {}\n",
            prose(&finding.message)
        );
    }
    let mut out = format!("\n**{title}**: {}\n\n", prose(&changes.sentence(group)));
    out.push_str("| workload | probe | before | after | why |\n|---|---|---|---|---|\n");
    for change in group.changes.iter().take(ROWS) {
        let Some(probe) = change.probe() else {
            continue;
        };
        let (before, after) = change.probe_states();
        let outcome = |state: Option<&crate::diff::ProbeState>| {
            state.map_or("–", |state| state.outcome.as_str())
        };
        let environment = probe.environment_name.as_deref();
        let environment = environment.map(|name| format!(" in {}", code(name)));
        out.push_str(&format!(
            "| {}{} ({}) | {} | {} | {} | {} |\n",
            code(&probe.id.workload()),
            environment.unwrap_or_default(),
            code(&changes.place(change)),
            prose(&probe.title()),
            outcome(before),
            outcome(after),
            prose(&changes.why(change, probe)),
        ));
    }
    let more = group.changes.len().saturating_sub(ROWS);
    if more > 0 {
        out.push_str(&format!("\nand {more} more\n"));
    }
    let kubelet = group.changes.iter().find_map(|change| {
        let (_, after) = change.probe_states();
        after?.kubelet.as_deref()
    });
    if let Some(kubelet) = kubelet.filter(|_| is_fault(group.class)) {
        out.push_str(&format!("\nkubelet: {}\n", code(kubelet)));
    }
    out
}

const fn is_fault(class: Class) -> bool {
    matches!(class, Class::Regression | Class::Added)
}

fn footer(changes: &Changes<'_>) -> String {
    let comparison = changes.comparison;
    let mut out = format!("\nUnchanged: {}", counted(comparison.unchanged, "probe"));
    if comparison.unchanged_faults > 0 {
        let faults = comparison.unchanged_faults;
        out.push_str(&format!(
            ", {faults} of them with a fault; `meshprobe check` reports them"
        ));
    }
    out.push_str(".\n");
    for note in &comparison.notes {
        out.push_str(&format!("\nNote: {}\n", prose(note)));
    }
    for line in changes.not_judged_lines() {
        out.push_str(&format!("\n{}\n", prose(&line)));
    }
    out
}

/// Returns a text as code, or as plain text if it contains a backtick.
fn code(text: &str) -> String {
    match text.contains('`') {
        true => prose(text),
        false => prose(&format!("`{text}`")),
    }
}
