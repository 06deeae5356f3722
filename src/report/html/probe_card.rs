//! A probe: a line with its outcome, and its way, its findings and the lines that decide in a part that opens.

use std::sync::Arc;

use maud::{Markup, html};
use meshprobe_predict::predict::Outcome;

use super::filters::{FilterKeys, joined, some};
use super::finding_block::{Shown, field_list, finding_block, status, tag};
use super::lines::{certainty, deciding_lines, place_of};
use super::markup::{Message, Text};
use super::places::Places;
use super::shared_facts::SharedFacts;
use super::tone::outcome_class;
use super::way::{WayTexts, way};
use super::workloads::{ProbeCard, Variant, WorkloadCard, rank};
use crate::report::name_list::name_list;
use crate::report::prediction::ProbeView;

/// Returns the card of a probe.
pub(super) fn probe_card<'a>(
    places: Places<'_>,
    keys: &FilterKeys<'_>,
    facts: &mut SharedFacts<'a>,
    workload: &WorkloadCard<'a>,
    probe: &ProbeCard<'a>,
) -> Markup {
    let variants = || probe.variants.iter();
    let deciding = variants().flat_map(|variant| &variant.view.deciding);
    let shown: Vec<&str> = deciding.filter_map(|line| line.place.as_deref()).collect();
    let is_single = probe.variants.len() == 1;
    let worst = variants()
        .map(|variant| variant.view.outcome)
        .max_by_key(|outcome| rank(*outcome));
    let environments = variants().flat_map(|variant| &*variant.environments);
    html! {
        details class={ "item probe " (worst.map_or("calm", outcome_class)) } data-kind="probe"
            data-s=(statuses(probe))
            data-o=(joined(variants().map(|variant| variant.view.outcome.as_str())))
            data-r=[some(joined(probe.findings.iter().map(|finding| finding.rule.as_str())))]
            data-n=(keys.namespace(workload.namespace))
            data-e=[some(keys.environments(environments))] {
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
    let row = &first.view.row;
    let results = results(probe);
    html! {
        span.name {
            b { (Text(&row.slot)) }
            @if !row.container.is_empty() { span.of { (Text(&row.container)) } }
            code { (Text(&row.probe)) }
        }
        span.results {
            @for result in &results {
                span.result {
                    (tag(outcome_class(result.outcome), result.outcome.as_str()))
                    @if results.len() > 1 && !result.environments.is_empty() {
                        span.env { (Text(&name_list(&result.environments))) }
                    }
                    span.why { (Message(result.why)) }
                }
            }
        }
    }
}

/// An outcome with its cause, in some environments.
struct ProbeResult<'p> {
    outcome: Outcome,
    why: &'p str,
    environments: Vec<Arc<str>>,
}

/// Returns the different outcomes of a probe.
fn results<'p>(probe: &'p ProbeCard<'_>) -> Vec<ProbeResult<'p>> {
    let mut results: Vec<ProbeResult<'_>> = Vec::new();
    for variant in &probe.variants {
        let (outcome, why) = (variant.view.outcome, variant.view.row.why.as_str());
        let environments = variant.environments.iter().cloned();
        let mut known = results.iter_mut();
        match known.find(|known| (known.outcome, known.why) == (outcome, why)) {
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
    variant: &Variant<'a>,
    is_single: bool,
) -> Markup {
    let view = variant.view;
    let title = match (is_single, variant.environments.is_empty()) {
        (true, true) => None,
        (_, true) => Some("As written".to_owned()),
        _ => Some(format!("In {}", name_list(&variant.environments))),
    };
    let texts = WayTexts {
        written: &view.row.probe,
        rewritten_to: &view.row.rewritten_to,
        outcome: view.outcome,
        why: &view.row.why,
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
            (fields(view))
            (deciding_lines(&view.deciding))
            (facts.link(&view.facts))
        }
    }
}

fn fields(view: &ProbeView) -> Markup {
    let outcome = html! { (view.outcome.as_str()) (certainty(view.certainty.as_str())) };
    let mut rows = vec![("outcome", outcome), ("place", place_of(&view.place))];
    let kubelet = view.kubelet.iter();
    rows.extend(kubelet.map(|text| ("kubelet", html! { code { (Text(text)) } })));
    for (name, texts) in [
        ("assumed", &view.assumptions),
        ("otherwise", &view.otherwise),
    ] {
        rows.extend(texts.iter().map(|text| (name, html! { (Message(text)) })));
    }
    field_list(rows)
}
