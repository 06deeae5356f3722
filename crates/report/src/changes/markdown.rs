//! Changes as Markdown, for a comment on a pull request or the summary of a job.

use super::{Changes, ProbeChange, finding_of, summary};
use crate::markdown::prose;
use crate::text::counted;
use meshprobe_engine::diff::{Change, Class, Group, groups};

/// The first line, by which a workflow finds its earlier comment to update it.
const MARKER: &str = "<!-- meshprobe diff -->\n";

/// The maximum number of rows of a table; the others are counted.
const ROWS: usize = 50;

/// The maximum size in bytes. GitHub rejects a comment of more than 65,536 characters.
const LIMIT: usize = 65_000;

/// The part of the limit for notes and for what is not judged.
const FOOTER_LIMIT: usize = LIMIT / 4;

/// Bytes that are reserved for lines that count what does not fit.
const RESERVE: usize = 200;

/// Returns all changes that fit into a comment, the worst first; the others are counted. The text starts with a comment by
/// which a workflow finds it again.
#[must_use]
pub fn markdown(changes: &Changes<'_>) -> String {
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
        let used = out.len() + footer.len() + RESERVE;
        match block(changes, &group, LIMIT.saturating_sub(used)) {
            Some(block) => out.push_str(&block),
            None => left_out += group.changes.len(),
        }
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
    } else if changes.comparison.leaves_something_out() {
        "no judged probe changes"
    } else {
        "no probe changes"
    }
}

/// Returns the changes of a group that fit into `room` bytes; `None` if none does.
fn block(changes: &Changes<'_>, group: &Group<'_>, room: usize) -> Option<String> {
    let title = group.class.as_str();
    if let Some((change, finding)) = finding_of(group) {
        let place = code(&changes.place(change));
        let rule = finding.rule;
        let message = prose(&finding.message);
        let text = format!("\n**{title}** `{rule}` {place}: {message}\n");
        return (text.len() <= room).then_some(text);
    }
    let mut out = format!("\n**{title}**: {}\n\n", prose(&changes.sentence(group)));
    out.push_str("| workload | probe | before | after | why |\n|---|---|---|---|---|\n");
    let after = group.changes.iter().map(|change| change.probe_states().1);
    let kubelet = after.flatten().find_map(|state| state.kubelet.as_deref());
    let kubelet = kubelet.filter(|_| is_fault(group.class));
    let kubelet = kubelet.map_or_else(String::new, |text| format!("\nkubelet: {}\n", code(text)));
    let room = room.saturating_sub(kubelet.len() + RESERVE);
    let mut shown = 0;
    for row in group
        .changes
        .iter()
        .filter_map(|change| row(changes, change))
    {
        if shown < ROWS && out.len() + row.len() <= room {
            out.push_str(&row);
            shown += 1;
        }
    }
    let more = group.changes.len() - shown;
    if more > 0 {
        out.push_str(&format!("\nand {more} more\n"));
    }
    (shown > 0).then(|| out + &kubelet)
}

fn row(changes: &Changes<'_>, change: &Change) -> Option<String> {
    let view = changes.probe_change(change)?;
    let [before, after] = view.outcomes("–");
    let ProbeChange {
        probe, why, place, ..
    } = &view;
    let environment = probe.environment_name.as_deref();
    let environment = environment.map(|name| format!(" in {}", code(name)));
    Some(format!(
        "| {}{} ({}) | {} | {} | {} | {} |\n",
        code(&probe.id.workload()),
        environment.unwrap_or_default(),
        code(place),
        prose(&probe.title()),
        before,
        after,
        prose(why),
    ))
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
    let notes = comparison.notes.iter().map(|note| format!("Note: {note}"));
    let mut left_out = 0;
    for line in notes.chain(changes.not_judged_lines()) {
        let line = format!("\n{}\n", prose(&line));
        match out.len() + line.len() <= FOOTER_LIMIT {
            true => out.push_str(&line),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        out.push_str(&format!(
            "\n{left_out} more notes do not fit; see the log of the job.\n"
        ));
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
