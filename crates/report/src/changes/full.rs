//! Changes for people: one block per cause, with its line and a table of the probes, or one line per change.

use meshprobe_mesh::finding::{Assumption, Label, Severity};

use super::{Changes, ProbeChange, finding_of, summary};
use crate::escape::escape_control;
use crate::frames::{ExcerptLabel, LabelRole, drawn, excerpt_regions};
use crate::full::{GUTTER, named_line};
use crate::table::Table;
use crate::terminal_style::{TerminalStyle, Tone, wrap};
use crate::text::counted;
use meshprobe_engine::diff::{Change, Class, Group, groups};

/// Returns all changes with their causes.
#[must_use]
pub fn full(changes: &Changes<'_>, style: TerminalStyle) -> String {
    let groups = groups(&changes.comparison.changes);
    let blocks = groups.iter().map(|group| block(changes, group, style));
    blocks.map(|block| block + "\n").collect()
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
    let mut out = if changes.compares_nothing() {
        let text = style.paint(Tone::Warning, "Nothing was compared");
        format!("{text}: neither state contains a workload that can be judged.\n")
    } else {
        // Without any change, a part that is not judged and differs is mentioned first.
        let headline = match comparison.changes.is_empty() && comparison.leaves_something_out() {
            true => "No changes of judged probes".to_owned(),
            false => summary(comparison),
        };
        let (before, after) = (changes.before.name, changes.after.name);
        format!(
            "{} between {} and {}.\n",
            style.paint(tone, &headline),
            escape_control(before),
            escape_control(after)
        )
    };
    for line in left_out(changes)
        .into_iter()
        .chain(changes.not_judged_lines())
    {
        out.push_str(&escape_control(&line));
        out.push('\n');
    }
    out
}

/// Returns sentences about what a report does not show.
pub(crate) fn left_out(changes: &Changes<'_>) -> Vec<String> {
    if changes.compares_nothing() {
        return Vec::new();
    }
    let comparison = changes.comparison;
    let with_noun = |count, noun, what| (count, format!("{} {what}", counted(count, noun)));
    let of_them = |count, what| (count, format!("{count} of them {what}"));
    let not_shown = [
        with_noun(comparison.unchanged, "probe", "unchanged"),
        of_them(comparison.unchanged_faults, "with a fault"),
        of_them(comparison.renamed, "renamed"),
        with_noun(comparison.unchanged_findings, "other finding", "unchanged"),
        with_noun(
            comparison.added_without_fault,
            "new probe",
            "without a fault",
        ),
        with_noun(comparison.suppressed, "change", "suppressed"),
    ];
    let not_shown = not_shown.into_iter().filter(|(count, _)| *count > 0);
    let not_shown: Vec<String> = not_shown.map(|(_, text)| text).collect();
    let not_judged = changes.after.state.not_judged.len();
    let parts = counted(not_judged, "part");
    let sentences = [
        (
            not_shown.len(),
            format!("Not shown: {}.", not_shown.join(", ")),
        ),
        (
            not_judged,
            format!("{parts} of the tree not judged; `meshprobe check` lists them."),
        ),
    ];
    let sentences = sentences.into_iter().filter(|(count, _)| *count > 0);
    sentences.map(|(_, sentence)| sentence).collect()
}

fn block(changes: &Changes<'_>, group: &Group<'_>, style: TerminalStyle) -> String {
    let class = group.class;
    let finding = finding_of(group);
    let (title, text) = match finding {
        Some((change, finding)) => {
            let is_gone_note = change.is_gone() && class == Class::Changed;
            let start = if is_gone_note {
                "not reported any more: "
            } else {
                ""
            };
            let title = format!("{}[{}]", class.as_str(), finding.rule);
            (title, format!("{start}{}", finding.message))
        }
        None => (class.as_str().to_owned(), changes.sentence(group)),
    };
    let (tone, severity) = look(class);
    let first = format!("{}: ", style.paint(tone, &title));
    let mut out = wrap(&escape_control(&text), &first, 2, style.width) + "\n";
    let excerpt = match finding {
        Some((change, finding)) => {
            let label = &finding.primary;
            let set = changes.state_of_change(change).set;
            Some((set, label, &label.message, finding.severity))
        }
        None => group.cause.and_then(|cause| {
            let label = cause.place.as_ref()?;
            let set = changes.state_of(cause.side).set;
            (class != Class::Removed).then_some((set, label, &cause.message, severity))
        }),
    };
    if let Some((set, label, text, severity)) = excerpt {
        let shown = ExcerptLabel {
            label,
            text: text.clone(),
            role: LabelRole::Primary,
        };
        let width = style.width.saturating_sub(GUTTER).max(40);
        out.push_str(&drawn(
            excerpt_regions(set, &[shown], width),
            severity,
            style,
        ));
    }
    let mut line = |name: &str, text: &str| out.push_str(&named_line(name, text, style));
    if let Some((change, finding)) = finding {
        if let Some(cause) = &change.cause {
            line("cause", &changes.cause_text(cause));
        }
        if let Some(help) = finding.help.as_ref().filter(|_| !change.is_gone()) {
            line("help", help);
        }
        return out;
    }
    out.push_str(&table(changes, group, style));
    let mut line = |name: &str, text: &str| out.push_str(&named_line(name, text, style));
    for text in kubelet_texts(group) {
        line("kubelet", &text);
    }
    for text in sources(group) {
        line("source", text);
    }
    for text in assumptions(group) {
        line("assumed", &text.to_string());
    }
    out
}

/// Returns the first kubelet text of each reason, and the number of the other probes with the same reason.
fn kubelet_texts(group: &Group<'_>) -> Vec<String> {
    let reason = |text: &str| text.rsplit(": ").next().unwrap_or_default().to_owned();
    let mut texts: Vec<(String, &str, usize)> = Vec::new();
    let after = group.changes.iter().map(|change| change.probe_states().1);
    for text in after.filter_map(|state| state?.kubelet.as_deref()) {
        let reason = reason(text);
        match texts.iter_mut().find(|(known, ..)| *known == reason) {
            Some((.., similar)) => *similar += 1,
            None => texts.push((reason, text, 0)),
        }
    }
    let shown = texts.into_iter().map(|(_, text, similar)| match similar {
        0 => text.to_owned(),
        others => format!("{text} (similar for {})", counted(others, "other")),
    });
    shown.collect()
}

/// Returns the sources of the facts of releases that explain a group.
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

fn assumptions<'c>(group: &Group<'c>) -> Vec<&'c Assumption> {
    let mut all: Vec<&Assumption> = Vec::new();
    let after = group
        .changes
        .iter()
        .filter_map(|change| change.probe_states().1);
    for assumption in after.flat_map(|state| &state.assumptions) {
        if !all.contains(&assumption) {
            all.push(assumption);
        }
    }
    all
}

const fn look(class: Class) -> (Tone, Severity) {
    match class {
        Class::Regression | Class::Added => (Tone::Error, Severity::Error),
        Class::Changed => (Tone::Warning, Severity::Warning),
        Class::Improvement => (Tone::Good, Severity::Note),
        Class::Removed => (Tone::Faint, Severity::Note),
    }
}

/// Writes one line per change.
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
    let Some(view) = changes.probe_change(change) else {
        return class.to_owned();
    };
    let ProbeChange { probe, why, .. } = &view;
    let [before, after] = view.outcomes("none");
    let environment = probe.environment_name.as_deref();
    let environment = environment.map(|name| format!(" in {name}"));
    let is_own = |label: &Label| change.place().is_some_and(|own| own.is_at(label));
    let cause = change.cause.as_ref();
    let cause = cause.filter(|cause| !cause.place.as_ref().is_some_and(is_own));
    let cause = cause.map(|cause| format!(" (cause: {})", changes.cause_text(cause)));
    format!(
        "{class}: {before} -> {after}: {} of {}{}: {why}{}",
        probe.title(),
        probe.id.workload(),
        environment.unwrap_or_default(),
        cause.unwrap_or_default()
    )
}

/// The columns with outcomes.
const OUTCOMES: [usize; 2] = [4, 5];

fn table(changes: &Changes<'_>, group: &Group<'_>, style: TerminalStyle) -> String {
    let headings = [
        "WORKLOAD",
        "CONTAINER",
        "SLOT",
        "IN",
        "BEFORE",
        "AFTER",
        "WHY",
    ];
    let views = group.changes.iter();
    let views = views.filter_map(|change| changes.probe_change(change));
    let rows = views.map(|view| {
        let [before, after] = view.outcomes("-");
        let ProbeChange {
            probe, why, place, ..
        } = view;
        let environment = probe.environment_name.as_deref();
        [
            probe.id.workload(),
            probe.id.container.clone(),
            probe.id.slot.to_owned(),
            environment.unwrap_or_default().to_owned(),
            before.to_owned(),
            after.to_owned(),
            format!("{why} ({place})"),
        ]
    });
    let table = Table::new(headings, rows, (0..headings.len(), ""));
    let lines = std::iter::once(table.heading()).chain(table.rows(&OUTCOMES, 0, None, style));
    lines.map(|line| format!("  {line}\n")).collect()
}
