//! One change: the prediction before and after, next to each other, or a finding.

use maud::{Markup, html};

use crate::diff::{Change, ProbeState};
use crate::report::changes::{Changes, ReportedState};
use crate::report::prediction::{DecidingLine, own_certainty};

use super::filters::{FilterKeys, joined, some};
use super::finding_block::{Shown, field_list, finding_block, tag};
use super::lines::{certainty, deciding_lines, place_of};
use super::markup::{Message, Text};
use super::places::Places;
use super::tone::{change_class, outcome_class};
use super::way::{WayTexts, way};

/// Returns the namespace of the object of a change, if it is known.
pub(super) fn namespace(change: &Change) -> Option<&str> {
    match (change.probe(), change.finding()) {
        (Some(probe), _) => probe.id.namespace.as_deref(),
        (None, Some(finding)) => finding.object.as_ref()?.namespace.as_deref(),
        (None, None) => None,
    }
}

/// Returns a change as an item that opens.
pub(super) fn change_item(changes: &Changes<'_>, keys: &FilterKeys<'_>, change: &Change) -> Markup {
    let namespace = keys.namespace(namespace(change));
    let Some(probe) = change.probe() else {
        return finding_item(changes, change, &namespace);
    };
    let (before, after) = change.probe_states();
    let states = before.into_iter().chain(after);
    html! {
        details class={ "item probe " (change_class(change.class)) } data-kind="change"
            data-s=(change.class.as_str()) data-o=(joined(states.map(|state| state.outcome.as_str())))
            data-n=(namespace) data-e=[some(keys.environments(probe.environment_name.iter()))] {
            summary { (summary(&changes.why(change, probe), probe, before, after)) }
            div class="body sides" {
                (side(changes, "Before", changes.before, before))
                (side(changes, "After", changes.after, after))
            }
        }
    }
}

fn finding_item(changes: &Changes<'_>, change: &Change, namespace: &str) -> Markup {
    let Some(finding) = change.finding() else {
        return Markup::default();
    };
    let places = places_of(changes, changes.state_of_change(change));
    html! {
        div.item data-kind="change" data-s=(change.class.as_str()) data-r=(finding.rule.as_str()) data-n=(namespace) {
            @if change.is_gone() {
                p.lead { (Message(&format!("This finding is only in {}.", changes.before.name))) }
            }
            (finding_block(places, finding, Shown::Nothing))
        }
    }
}

const fn places_of<'a>(changes: &Changes<'a>, state: ReportedState<'a>) -> Places<'a> {
    Places {
        set: state.set,
        root: changes.root,
    }
}

fn summary(
    why: &str,
    probe: &ProbeState,
    before: Option<&ProbeState>,
    after: Option<&ProbeState>,
) -> Markup {
    let id = &probe.id;
    html! {
        span.name {
            b { (Text(&id.workload())) }
            span.of { (id.slot) }
            @if !id.container.is_empty() { span.of { (Text(&id.container)) } }
            @if let Some(environment) = &probe.environment_name { span.env { (Text(environment)) } }
        }
        span.results {
            span.result {
                (outcome(before))
                span.arrow aria-hidden="true" { "→" }
                span.sr { "then" }
                (outcome(after))
                span.why { (Message(why)) }
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
                Some(state) => { (prediction(places_of(changes, reported), state)) }
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
        why: &state.why,
    };
    let outcome = html! {
        (tag(outcome_class(state.outcome), state.outcome.as_str())) " " (Message(&state.why))
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
    rows.extend(assumptions.map(|text| ("assumed", html! { (Message(text)) })));
    let lines = state.because.iter().map(|reason| {
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
