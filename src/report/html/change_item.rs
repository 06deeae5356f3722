//! One change: the prediction before and after, next to each other, or a finding.

use crate::diff::{Change, ProbeState};
use crate::report::changes::{Changes, ReportedState};
use crate::report::prediction::{DecidingLine, own_certainty};

use super::filters::FilterKeys;
use super::finding_block::{Shown, field_list, finding_block, tag};
use super::lines::{certainty, deciding_lines, place_of};
use super::markup::{Markup, element};
use super::places::Places;
use super::probe_card::joined;
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
    let mut content =
        element("summary").holding(summary(&changes.why(change, probe), probe, before, after));
    let mut sides = side(changes, "Before", changes.before, before);
    sides.push(side(changes, "After", changes.after, after));
    content.push(element("div").class("body sides").holding(sides));
    let states = || before.into_iter().chain(after);
    element("details")
        .class(&format!("item probe {}", change_class(change.class)))
        .with("data-kind", "change")
        .with("data-s", change.class.as_str())
        .with(
            "data-o",
            &joined(states().map(|state| state.outcome.as_str())),
        )
        .with("data-n", &namespace)
        .with_some("data-e", &keys.environments(probe.environment_name.iter()))
        .holding(content)
}

fn finding_item(changes: &Changes<'_>, change: &Change, namespace: &str) -> Markup {
    let Some(finding) = change.finding() else {
        return Markup::new();
    };
    let places = places_of(changes, changes.state_of_change(change));
    let mut content = Markup::new();
    if change.is_gone() {
        let name = changes.before.name;
        let text = format!("This finding is only in {name}.");
        content.push(element("p").class("lead").message(&text));
    }
    content.push(finding_block(places, finding, Shown::Nothing));
    element("div")
        .class("item")
        .with("data-kind", "change")
        .with("data-s", change.class.as_str())
        .with("data-r", finding.rule.as_str())
        .with("data-n", namespace)
        .holding(content)
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
    let mut name = element("b").text(&id.workload());
    name.push(element("span").class("of").text(id.slot));
    if !id.container.is_empty() {
        name.push(element("span").class("of").text(&id.container));
    }
    if let Some(environment) = &probe.environment_name {
        name.push(element("span").class("env").text(environment));
    }
    let mut out = element("span").class("name").holding(name);
    let mut result = outcome(before);
    result.push(
        element("span")
            .class("arrow")
            .with("aria-hidden", "true")
            .text("→"),
    );
    result.push(element("span").class("sr").text("then"));
    result.push(outcome(after));
    result.push(element("span").class("why").message(why));
    let result = element("span").class("result").holding(result);
    out.push(element("span").class("results").holding(result));
    out
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
    let mut heading = Markup::text(&format!("{title}: "));
    heading.push(Markup::message(reported.name));
    let mut content = element("h4").class("in").holding(heading);
    match state {
        Some(state) => content.push(prediction(places_of(changes, reported), state)),
        None => content.push(element("p").class("lead").text("The probe does not exist.")),
    }
    element("div").class("variant").holding(content)
}

fn prediction(places: Places<'_>, state: &ProbeState) -> Markup {
    let texts = WayTexts {
        written: &state.written,
        rewritten_to: &state.rewritten_to,
        outcome: state.outcome,
        why: &state.why,
    };
    let mut out = way(&state.route, texts);
    let mut outcome = tag(outcome_class(state.outcome), state.outcome.as_str());
    outcome.push(Markup::text(" "));
    outcome.push(Markup::message(&state.why));
    outcome.push(certainty(state.certainty.as_str()));
    let place = place_of(&places.place(&state.place));
    let code = |text: &str| element("code").text(text);
    let mut rows = vec![
        ("outcome", outcome),
        ("place", place),
        ("probe", code(&state.written)),
    ];
    if let Some(kubelet) = &state.kubelet {
        rows.push(("kubelet", code(kubelet)));
    }
    rows.extend(
        state
            .assumptions
            .iter()
            .map(|text| ("assumed", Markup::message(text))),
    );
    out.push(field_list(rows));
    let lines: Vec<DecidingLine> = state
        .because
        .iter()
        .map(|reason| {
            let place = reason.place.as_ref();
            DecidingLine {
                message: reason.message.clone(),
                place: place.map(|label| places.place(label)),
                text: place.and_then(|label| places.line(label)),
                certainty: own_certainty(reason),
                fact: None,
            }
        })
        .collect();
    out.push(deciding_lines(&lines));
    out
}
