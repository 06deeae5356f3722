//! The workloads with their probes, by namespace: a line with the outcome of each, and its way, its findings and the lines that
//! decide in a part that opens.

use std::sync::Arc;

use maud::{Markup, html};
use meshprobe_predict::predict::{Hop, HopKind, HopState, Outcome, RouteFacts};

use super::filters::{joined, namespace_title};
use super::finding_block::{
    SharedFacts, Shown, certainty, deciding_lines, field_list, finding_block, place_of, status, tag,
};
use super::page::{Message, Text, hop_class, hop_text, outcome_class};
use super::workloads::{ProbeCard, Variant, WorkloadCard, Workloads, rank};
use crate::report_root::Places;
use crate::terminal_style::name_list;
use crate::text::counted;

/// Returns the card of a probe.
pub(super) fn probe_card<'a>(
    places: Places<'_>,
    facts: &mut SharedFacts<'a>,
    probe: &'a ProbeCard<'_>,
) -> Markup {
    let variants = || probe.variants.iter();
    let deciding = variants().flat_map(|variant| &variant.deciding);
    let shown: Vec<&str> = deciding.filter_map(|line| line.place.as_deref()).collect();
    let is_single = probe.variants.len() == 1;
    let worst = variants()
        .map(|variant| variant.probe.outcome)
        .max_by_key(|outcome| rank(*outcome));
    html! {
        details class={ "item probe " (worst.map_or("calm", outcome_class)) } data-kind="probe"
            data-s=(statuses(probe)) {
            summary { (summary(probe)) }
            div.body {
                @for finding in &probe.findings { (finding_block(places, finding, Shown::Probe(&shown))) }
                @for variant in variants() { (variant_block(facts, variant, is_single)) }
            }
        }
    }
}

fn statuses(probe: &ProbeCard<'_>) -> String {
    match probe.findings.as_slice() {
        [] => "none".to_owned(),
        findings => joined(findings.iter().map(|finding| status(finding))),
    }
}

/// Returns the line that is always visible.
fn summary(probe: &ProbeCard<'_>) -> Markup {
    let Some(first) = probe.variants.first() else {
        return Markup::default();
    };
    let row = first.probe;
    let results = results(probe);
    html! {
        span.name {
            b { (Text(row.slot)) }
            @if !row.container.is_empty() { span.of { (Text(&row.container)) } }
            code { (Text(&row.written)) }
        }
        span.results {
            @for result in &results {
                span.result {
                    (tag(outcome_class(result.outcome), result.outcome.as_str()))
                    @if results.len() > 1 && !result.environments.is_empty() {
                        span.env { (Text(&name_list(&result.environments))) }
                    }
                    span.why { (Message(&result.why)) }
                }
            }
        }
    }
}

/// An outcome with its cause, in some environments.
struct ProbeResult {
    outcome: Outcome,
    why: String,
    environments: Vec<Arc<str>>,
}

/// Returns the different outcomes of a probe.
fn results(probe: &ProbeCard<'_>) -> Vec<ProbeResult> {
    let mut results: Vec<ProbeResult> = Vec::new();
    for variant in &probe.variants {
        let (outcome, why) = (variant.probe.outcome, variant.why());
        let environments = variant.environments.iter().cloned();
        let mut known = results.iter_mut();
        match known.find(|known| (known.outcome, &known.why) == (outcome, &why)) {
            Some(known) => known.environments.extend(environments),
            None => results.push(ProbeResult {
                outcome,
                why,
                environments: environments.collect(),
            }),
        }
    }
    results
}

/// Returns the prediction in some environments: its way, and what decides it.
fn variant_block<'a>(
    facts: &mut SharedFacts<'a>,
    variant: &'a Variant<'_>,
    is_single: bool,
) -> Markup {
    let (view, why) = (variant.probe, variant.why());
    let title = match (is_single, variant.environments.is_empty()) {
        (true, true) => None,
        (_, true) => Some("As written".to_owned()),
        _ => Some(format!("In {}", name_list(&variant.environments))),
    };
    let texts = WayTexts {
        written: &view.written,
        rewritten_to: &view.rewritten_to,
        outcome: view.outcome,
        why: &why,
    };
    html! {
        div.variant {
            @if let Some(title) = title {
                h5.in {
                    (Text(&title))
                    @if !is_single { (tag(outcome_class(view.outcome), view.outcome.as_str())) }
                }
            }
            (way(&view.route, texts))
            (fields(variant))
            (deciding_lines(&variant.deciding))
            (facts.link(&variant.facts))
        }
    }
}

fn fields(variant: &Variant<'_>) -> Markup {
    let view = variant.probe;
    let outcome = html! { (view.outcome.as_str()) (certainty(view.certainty.as_str())) };
    let mut rows = vec![("outcome", outcome), ("place", place_of(&variant.place))];
    let kubelet = view.kubelet.iter();
    rows.extend(kubelet.map(|text| ("kubelet", html! { code { (Text(text)) } })));
    let assumed = view.assumptions.iter();
    rows.extend(assumed.map(|known| ("assumed", html! { (Message(&known.to_string())) })));
    let otherwise = view.otherwise.iter();
    rows.extend(otherwise.map(|text| ("otherwise", html! { (Message(&text.to_string())) })));
    field_list(rows)
}

/// What the drawing says about a probe, in addition to its hops.
#[derive(Clone, Copy, Debug)]
pub(super) struct WayTexts<'a> {
    /// The handler as written.
    pub(super) written: &'a str,
    /// The handler after the rewrite; empty if it is not rewritten.
    pub(super) rewritten_to: &'a str,
    /// The outcome.
    pub(super) outcome: Outcome,
    /// Why.
    pub(super) why: &'a str,
}

/// Returns the drawing; empty if nothing sends a request.
pub(super) fn way(route: &RouteFacts, texts: WayTexts<'_>) -> Markup {
    let hops = route.hops();
    html! {
        @if !hops.is_empty() {
            ol.way {
                @for hop in &hops {
                    @let (detail, state) = (detail(hop, texts), hop_text(hop.state, texts.outcome));
                    li class=(hop_class(hop.state)) {
                        b { (Text(&hop.kind.title(route.mesh))) }
                        @if !detail.is_empty() { code { (Text(detail)) } }
                        @if !state.is_empty() { em { (state) } }
                        @if matches!(hop.state, HopState::Fault | HopState::Unknown) { small { (Message(texts.why)) } }
                    }
                }
            }
        }
    }
}

/// Returns what is known about a hop: the request that the kubelet sends, or the detail of the model.
fn detail<'a>(hop: &'a Hop, texts: WayTexts<'a>) -> &'a str {
    match hop.kind {
        HopKind::Kubelet if hop.state == HopState::NotReached => "",
        HopKind::Kubelet if texts.rewritten_to.is_empty() => texts.written,
        HopKind::Kubelet => texts.rewritten_to,
        HopKind::MachineAgent => texts.written,
        _ => &hop.detail,
    }
}

/// Returns the workloads, one group per namespace.
pub(super) fn workload_list<'a>(
    places: Places<'_>,
    facts: &mut SharedFacts<'a>,
    workloads: &'a Workloads<'_>,
) -> Markup {
    html! {
        @for (number, namespace) in workloads.namespaces().iter().enumerate() {
            @let cards = workloads.cards.iter().filter(|card| card.namespace == *namespace).collect::<Vec<_>>();
            div class="group namespace" {
                h3 id={ "n" (number) } tabindex="-1" {
                    (Text(&namespace_title(*namespace)))
                    span.n { (counted(cards.len(), "workload")) }
                }
                @for card in cards {
                    article class="group workload" {
                        h4 { span { (Text(card.name)) } (counts(card)) (place_of(&card.place)) }
                        @for probe in &card.probes { (probe_card(places, facts, probe)) }
                    }
                }
            }
        }
    }
}

/// Returns the number of probes with each outcome, in all environments together.
fn counts(card: &WorkloadCard<'_>) -> Markup {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for variant in card.variants() {
        let outcome = variant.probe.outcome;
        let number = variant.environments.len().max(1);
        match counts
            .iter_mut()
            .find(|(_, name, _)| *name == outcome.as_str())
        {
            Some((.., count)) => *count += number,
            None => counts.push((outcome_class(outcome), outcome.as_str(), number)),
        }
    }
    html! {
        span.counts { @for (class, name, count) in counts { (tag(class, &format!("{count} {name}"))) } }
    }
}
