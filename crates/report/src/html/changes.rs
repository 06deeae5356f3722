//! The report of `diff`: the changes by cause, with both states next to each other.

use maud::{Markup, html};

use super::filters::filters;
use super::finding_block::{
    Shown, certainty, deciding_lines, field_list, finding_block, place_of, tag,
};
use super::page::{Message, Page, Text, Tile, change_class, outcome_class, tiles};
use super::probe_card::{WayTexts, way};
use super::workloads::DecidingLine;
use crate::changes::{Changes, ProbeChange, ReportedState, finding_of, left_out, summary};
use crate::explanation::own_certainty;
use crate::report_root::Places;
use meshprobe_engine::diff::{Change, Class, Group, ProbeState, groups};

/// Returns the changes between two states as one HTML file.
#[must_use]
pub fn html_changes(changes: &Changes<'_>) -> String {
    let all = &changes.comparison.changes;
    let groups = groups(all);
    let blocks = html! { @for group in &groups { (block(changes, group)) } };
    let lines = changes.not_judged_lines();
    let not_judged = html! {
        @if !lines.is_empty() { ul.lines { @for line in &lines { li { (Message(line)) } } } }
    };
    let page = Page {
        title: "Changes of health probes",
        header: header(changes),
        filters: filters(
            "Class",
            Class::ALL
                .map(|class| (class.as_str(), count(all, class)))
                .into_iter(),
        ),
        sections: vec![
            ("changes", "Changes by cause", blocks),
            ("not-judged", "Not judged", not_judged),
            ("run", "About this run", run_facts(changes)),
        ],
    };
    page.into_html()
}

fn header(changes: &Changes<'_>) -> Markup {
    let between = format!(
        "{} between {} and {}.",
        summary(changes.comparison),
        changes.before.name,
        changes.after.name
    );
    let all = Class::ALL.map(|class| Tile {
        class: change_class(class),
        name: class.as_str(),
        count: count(&changes.comparison.changes, class),
    });
    html! { p.lead { (Message(&between)) } (tiles(&all)) }
}

fn count(changes: &[Change], class: Class) -> usize {
    changes
        .iter()
        .filter(|change| change.class == class)
        .count()
}

fn run_facts(changes: &Changes<'_>) -> Markup {
    let message = |text: &str| html! { (Message(text)) };
    let version = html! { "meshprobe " (env!("CARGO_PKG_VERSION")) };
    let mut rows = vec![
        ("tool", version),
        ("before", message(changes.before.name)),
        ("after", message(changes.after.name)),
    ];
    let notes = changes.comparison.notes.iter();
    rows.extend(notes.map(|note| ("note", message(note))));
    rows.extend(left_out(changes).iter().map(|line| ("note", message(line))));
    field_list(rows)
}

/// Returns the changes with one cause.
fn block(changes: &Changes<'_>, group: &Group<'_>) -> Markup {
    let class = change_class(group.class);
    let text = match finding_of(group) {
        Some((_, finding)) => format!("finding {}", finding.rule),
        None => changes.sentence(group),
    };
    let cause = group.cause.and_then(|cause| {
        let places = changes.places(changes.state_of(cause.side));
        let label = cause.place.as_ref()?;
        Some((places.place(label), places.line(label)))
    });
    html! {
        article class={ "group cause-group " (class) } {
            h3 { (tag(class, group.class.as_str())) span { (Message(&text)) } }
            @if let Some((place, line)) = cause {
                div.cause { (place_of(&place)) @if let Some(line) = line { pre { (Text(&line)) } } }
            }
            @for change in &group.changes { (change_item(changes, change)) }
        }
    }
}

/// Returns a change as an item that opens.
pub(super) fn change_item(changes: &Changes<'_>, change: &Change) -> Markup {
    let Some(view) = changes.probe_change(change) else {
        return finding_item(changes, change);
    };
    html! {
        details class={ "item probe " (change_class(change.class)) } data-kind="change"
            data-s=(change.class.as_str()) {
            summary { (item_summary(&view)) }
            div class="body sides" {
                (side(changes, "Before", changes.before, view.before))
                (side(changes, "After", changes.after, view.after))
            }
        }
    }
}

fn finding_item(changes: &Changes<'_>, change: &Change) -> Markup {
    let Some(finding) = change.finding() else {
        return Markup::default();
    };
    let places = changes.places(changes.state_of_change(change));
    html! {
        div.item data-kind="change" data-s=(change.class.as_str()) {
            @if change.is_gone() {
                p.lead { (Message(&format!("This finding is only in {}.", changes.before.name))) }
            }
            (finding_block(places, finding, Shown::Nothing))
        }
    }
}

fn item_summary(view: &ProbeChange<'_>) -> Markup {
    let (probe, id) = (view.probe, &view.probe.id);
    html! {
        span.name {
            b { (Text(&id.workload())) }
            span.of { (id.slot) }
            @if !id.container.is_empty() { span.of { (Text(&id.container)) } }
            @if let Some(environment) = &probe.environment_name { span.env { (Text(environment)) } }
        }
        span.results {
            span.result {
                (outcome(view.before))
                span.arrow aria-hidden="true" { "→" }
                span.sr { "then" }
                (outcome(view.after))
                span.why { (Message(&view.why)) }
            }
        }
    }
}

fn outcome(state: Option<&ProbeState>) -> Markup {
    match state {
        Some(state) => tag(outcome_class(state.outcome), state.outcome.as_str()),
        None => tag("calm", "no probe"),
    }
}

/// Returns the prediction in one state.
fn side<'a>(
    changes: &Changes<'a>,
    title: &str,
    reported: ReportedState<'a>,
    state: Option<&ProbeState>,
) -> Markup {
    html! {
        div.variant {
            h4.in { (title) ": " (Message(reported.name)) }
            @match state {
                Some(state) => { (prediction(changes.places(reported), state)) }
                None => { p.lead { "The probe does not exist." } }
            }
        }
    }
}

fn prediction(places: Places<'_>, state: &ProbeState) -> Markup {
    let texts = WayTexts {
        written: &state.written,
        rewritten_to: &state.rewritten_to,
        outcome: state.outcome,
        why: state.why,
    };
    let outcome = html! {
        (tag(outcome_class(state.outcome), state.outcome.as_str())) " " (Message(state.why))
        (certainty(state.certainty.as_str()))
    };
    let code = |text: &str| html! { code { (Text(text)) } };
    let mut rows = vec![
        ("outcome", outcome),
        ("place", place_of(&places.place(&state.place))),
        ("probe", code(&state.written)),
    ];
    rows.extend(state.kubelet.iter().map(|text| ("kubelet", code(text))));
    let assumptions = state.assumptions.iter();
    rows.extend(assumptions.map(|known| ("assumed", html! { (Message(&known.to_string())) })));
    let lines = state.because.iter().map(|entry| {
        let reason = &entry.reason;
        let place = reason.place.as_ref();
        DecidingLine {
            message: reason.message.clone(),
            place: place.map(|label| places.place(label)),
            text: place.and_then(|label| places.line(label)),
            certainty: own_certainty(reason),
            fact: None,
        }
    });
    let lines: Vec<DecidingLine> = lines.collect();
    html! { (way(&state.route, texts)) (field_list(rows)) (deciding_lines(&lines)) }
}
