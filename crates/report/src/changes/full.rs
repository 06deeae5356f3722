//! Changes for people: one block per cause, with its line and a table of the probes, or one line per change.

use meshprobe_mesh::finding::{Assumption, Finding, Label, Severity};

use super::Changes;
use super::words::summary;
use crate::escape::escape_control;
use crate::frames::{ExcerptLabel, LabelRole, drawn, excerpt_regions};
use crate::full::named_line;
use crate::terminal_style::{TerminalStyle, Tone, outcome_tone, wrap};
use crate::text::counted;
use meshprobe_engine::diff::{Change, Class, Group, groups};

/// The width of line numbers and the frame.
const GUTTER: usize = 12;

/// Returns all changes with their causes.
#[must_use]
pub fn full(changes: &Changes<'_>, style: TerminalStyle) -> String {
    let mut out = String::new();
    for group in groups(&changes.comparison.changes) {
        block(&mut out, changes, &group, style);
        out.push('\n');
    }
    out
}

/// Returns the last lines: what was compared, and what is not shown.
#[must_use]
pub fn last_lines(changes: &Changes<'_>, style: TerminalStyle) -> String {
    let comparison = changes.comparison;
    let tone = if changes.fails() {
        Tone::Error
    } else {
        Tone::Good
    };
    let (before, after) = (changes.before.name, changes.after.name);
    if changes.compares_nothing() {
        let text = style.paint(Tone::Warning, "Nothing was compared");
        let mut out = format!("{text}: neither state contains a workload that can be judged.\n");
        push_not_judged(&mut out, changes);
        return out;
    }
    let mut out = format!(
        "{} between {} and {}.\n",
        style.paint(tone, &headline(changes)),
        escape_control(before),
        escape_control(after)
    );
    let mut unchanged = Vec::new();
    if comparison.unchanged > 0 {
        let probes = counted(comparison.unchanged, "probe");
        unchanged.push(format!("{probes} unchanged"));
    }
    if comparison.unchanged_faults > 0 {
        let faults = comparison.unchanged_faults;
        unchanged.push(format!("{faults} of them with a fault"));
    }
    if comparison.renamed > 0 {
        let renamed = comparison.renamed;
        unchanged.push(format!("{renamed} of them renamed"));
    }
    if comparison.unchanged_findings > 0 {
        let findings = counted(comparison.unchanged_findings, "other finding");
        unchanged.push(format!("{findings} unchanged"));
    }
    if comparison.added_without_fault > 0 {
        let added = counted(comparison.added_without_fault, "new probe");
        unchanged.push(format!("{added} without a fault"));
    }
    if comparison.suppressed > 0 {
        let suppressed = counted(comparison.suppressed, "change");
        unchanged.push(format!("{suppressed} suppressed"));
    }
    if !unchanged.is_empty() {
        out.push_str(&format!("Not shown: {}.\n", unchanged.join(", ")));
    }
    let not_judged = changes.after.state.not_judged.len();
    if not_judged > 0 {
        let parts = counted(not_judged, "part");
        out.push_str(&format!(
            "{parts} of the tree not judged; `meshprobe check` lists them.\n"
        ));
    }
    push_not_judged(&mut out, changes);
    out
}

/// Adds a line for each part that is not judged and differs.
fn push_not_judged(out: &mut String, changes: &Changes<'_>) {
    for line in changes.not_judged_lines() {
        out.push_str(&escape_control(&line));
        out.push('\n');
    }
}

/// Returns the counts of changes. Without any, a part that is not judged and differs is mentioned first.
fn headline(changes: &Changes<'_>) -> String {
    let is_clean = changes.comparison.changes.is_empty();
    match is_clean && changes.comparison.leaves_something_out() {
        true => "No changes of judged probes".to_owned(),
        false => summary(changes.comparison),
    }
}

fn block(out: &mut String, changes: &Changes<'_>, group: &Group<'_>, style: TerminalStyle) {
    let finding = group.changes.first().and_then(|change| change.finding());
    if let (Some(finding), Some(change)) = (finding, group.changes.first()) {
        let title = format!("{}[{}]", group.class.as_str(), finding.rule);
        let set = changes.state_of_change(change).set;
        let message = finding_message(change, finding);
        header(out, group.class, &title, &message, style);
        let label = ExcerptLabel {
            label: &finding.primary,
            text: finding.primary.message.clone(),
            role: LabelRole::Primary,
        };
        let width = style.width.saturating_sub(GUTTER).max(40);
        let regions = excerpt_regions(set, &[label], width);
        out.push_str(&drawn(regions, finding.severity, style));
        if let Some(cause) = &change.cause {
            let text = match &cause.place {
                Some(label) => {
                    let line = changes.line(changes.state_of(cause.side).set, label);
                    format!("{line}: {}", cause.message)
                }
                None => cause.message.clone(),
            };
            out.push_str(&named_line("cause", &text, style));
        }
        if let Some(help) = finding.help.as_ref().filter(|_| !change.is_gone()) {
            out.push_str(&named_line("help", help, style));
        }
        return;
    }
    let sentence = changes.sentence(group);
    header(out, group.class, group.class.as_str(), &sentence, style);
    // The removed line of a removed handler is not shown.
    if let Some(cause) = group.cause.filter(|_| group.class != Class::Removed)
        && let Some(label) = &cause.place
    {
        let set = changes.state_of(cause.side).set;
        let shown = ExcerptLabel {
            label,
            text: cause.message.clone(),
            role: LabelRole::Primary,
        };
        let width = style.width.saturating_sub(GUTTER).max(40);
        let regions = excerpt_regions(set, &[shown], width);
        out.push_str(&drawn(regions, severity(group.class), style));
    }
    let table: Vec<Cells> = group
        .changes
        .iter()
        .filter_map(|change| cells(changes, change))
        .collect();
    out.push_str(&aligned(&table, 2, style));
    for text in kubelet_texts(group) {
        out.push_str(&named_line("kubelet", &text, style));
    }
    for text in sources(group) {
        out.push_str(&named_line("source", text, style));
    }
    for text in assumptions(group) {
        out.push_str(&named_line("assumed", &text.to_string(), style));
    }
}

/// Returns the message of a finding. A note that is gone would otherwise look like a new one.
fn finding_message(change: &Change, finding: &Finding) -> String {
    let is_gone_note = change.is_gone() && change.class == Class::Changed;
    match is_gone_note {
        true => format!("not reported any more: {}", finding.message),
        false => finding.message.clone(),
    }
}

fn header(out: &mut String, class: Class, title: &str, text: &str, style: TerminalStyle) {
    let first = format!("{}: ", style.paint(tone(class), title));
    out.push_str(&wrap(&escape_control(text), &first, 2, style.width));
    out.push('\n');
}

/// Returns the texts of the kubelet after the change. Of texts with the same reason, such as "connection reset by
/// peer", only the first is returned.
fn kubelet_texts(group: &Group<'_>) -> Vec<String> {
    let reason = |text: &str| text.rsplit(": ").next().unwrap_or_default().to_owned();
    let mut texts: Vec<(String, String, usize)> = Vec::new();
    for change in &group.changes {
        let (_, after) = change.probe_states();
        let Some(text) = after.and_then(|state| state.kubelet.as_deref()) else {
            continue;
        };
        let reason = reason(text);
        match texts.iter_mut().find(|(known, ..)| *known == reason) {
            Some((.., similar)) => *similar += 1,
            None => texts.push((reason, text.to_owned(), 0)),
        }
    }
    let shown = texts.into_iter().map(|(_, text, similar)| match similar {
        0 => text,
        others => format!("{text} (similar for {})", counted(others, "other")),
    });
    shown.collect()
}

/// Returns the sources of the behaviour behind the changes, if the heading does not contain them.
fn sources(group: &Group<'_>) -> Vec<&'static str> {
    let causes = group
        .changes
        .iter()
        .filter_map(|change| change.cause.as_ref());
    let named = causes.filter(|cause| cause.is_option);
    let mut all: Vec<&str> = named.filter_map(|cause| cause.source).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the assumptions behind the predictions after the change.
fn assumptions(group: &Group<'_>) -> Vec<Assumption> {
    let mut all: Vec<Assumption> = Vec::new();
    for change in &group.changes {
        let (_, after) = change.probe_states();
        for assumption in after.map_or(&[][..], |state| &state.assumptions) {
            if !all.contains(assumption) {
                all.push(assumption.clone());
            }
        }
    }
    all
}

const fn tone(class: Class) -> Tone {
    match class {
        Class::Regression | Class::Added => Tone::Error,
        Class::Changed => Tone::Warning,
        Class::Improvement => Tone::Good,
        Class::Removed => Tone::Faint,
    }
}

const fn severity(class: Class) -> Severity {
    match class {
        Class::Regression | Class::Added => Severity::Error,
        Class::Changed => Severity::Warning,
        Class::Improvement | Class::Removed => Severity::Note,
    }
}

/// Returns one line per change.
#[must_use]
pub fn concise(changes: &Changes<'_>, style: TerminalStyle) -> String {
    let lines = changes.comparison.changes.iter().map(|change| {
        let place = style.paint(Tone::Strong, &escape_control(&changes.place(change)));
        format!("{place}: {}\n", escape_control(&text(changes, change)))
    });
    lines.collect()
}

fn text(changes: &Changes<'_>, change: &Change) -> String {
    let class = change.class.as_str();
    if let Some(finding) = change.finding() {
        return format!("{class}[{}]: {}", finding.rule, finding.message);
    }
    let Some(probe) = change.probe() else {
        return class.to_owned();
    };
    let (before, after) = change.probe_states();
    let outcome = |state: Option<&meshprobe_engine::diff::ProbeState>| {
        state.map_or("none", |state| state.outcome.as_str())
    };
    let environment = probe.environment_name.as_deref();
    let environment = environment.map(|name| format!(" in {name}"));
    let is_own = |label: &Label| change.place().is_some_and(|own| own.is_at(label));
    let causes = change.cause.as_ref();
    let cause = causes.filter(|cause| !cause.place.as_ref().is_some_and(is_own));
    let cause = cause.map(|cause| match &cause.place {
        Some(label) => {
            let set = changes.state_of(cause.side).set;
            let place = changes.line(set, label);
            format!(" (cause: {place}: {})", cause.message)
        }
        None => format!(" (cause: {})", cause.message),
    });
    format!(
        "{class}: {} -> {}: {} of {}{}: {}{}",
        outcome(before),
        outcome(after),
        probe.title(),
        probe.id.workload(),
        environment.unwrap_or_default(),
        changes.why(change, probe),
        cause.unwrap_or_default()
    )
}

/// The headings of the table.
pub(super) const HEADINGS: [&str; COLUMNS] = [
    "WORKLOAD",
    "CONTAINER",
    "SLOT",
    "IN",
    "BEFORE",
    "AFTER",
    "WHY",
];

/// The number of columns.
pub(super) const COLUMNS: usize = 7;

const BEFORE: usize = 4;
const AFTER: usize = 5;

/// One line of the table.
pub(super) type Cells = [String; COLUMNS];

/// Returns the cells of a handler; `None` for a finding.
pub(super) fn cells(changes: &Changes<'_>, change: &Change) -> Option<Cells> {
    let probe = change.probe()?;
    let (before, after) = change.probe_states();
    let outcome = |state: Option<&meshprobe_engine::diff::ProbeState>| {
        state.map_or_else(|| "-".to_owned(), |state| state.outcome.as_str().to_owned())
    };
    let environment = probe.environment_name.as_deref().unwrap_or_default();
    Some([
        probe.id.workload(),
        probe.id.container.clone(),
        probe.id.slot.to_owned(),
        environment.to_owned(),
        outcome(before),
        outcome(after),
        format!("{} ({})", changes.why(change, probe), changes.place(change)),
    ])
}

/// Returns the lines of a table with aligned columns, each after `indent` spaces. Omits empty columns.
pub(super) fn aligned(rows: &[Cells], indent: usize, style: TerminalStyle) -> String {
    let shown: Vec<usize> = (0..COLUMNS)
        .filter(|&at| {
            rows.iter()
                .any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()))
        })
        .collect();
    let headings = HEADINGS.map(str::to_owned);
    let widths: Vec<usize> = shown
        .iter()
        .map(|&at| {
            let cells = std::iter::once(&headings).chain(rows);
            let widths = cells.filter_map(|row| row.get(at)).map(|cell| width(cell));
            widths.max().unwrap_or_default()
        })
        .collect();
    let mut out = String::new();
    for (number, row) in std::iter::once(&headings).chain(rows).enumerate() {
        let mut line = " ".repeat(indent);
        for (&at, width_of_column) in shown.iter().zip(&widths) {
            let cell = row.get(at).map_or("", String::as_str);
            let text = escape_control(cell);
            let is_outcome = number > 0 && matches!(at, BEFORE | AFTER);
            match is_outcome {
                true => line.push_str(&style.paint(outcome_tone(cell), &text)),
                false => line.push_str(&text),
            }
            let gap = (width_of_column + 2).saturating_sub(width(cell));
            line.extend(std::iter::repeat_n(' ', gap));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn width(cell: &str) -> usize {
    escape_control(cell).chars().count()
}
