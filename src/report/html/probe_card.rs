//! A probe: a line with its outcome, and its way, its findings and the lines that decide in a part that opens.

use std::sync::Arc;

use crate::predict::Outcome;
use crate::report::name_list::name_list;

use super::filters::FilterKeys;
use super::finding_block::{Shown, field_list, finding_block, status, tag};
use super::lines::{certainty, deciding_lines, place_of};
use super::markup::{Markup, element};
use super::places::Places;
use super::shared_facts::SharedFacts;
use super::tone::outcome_class;
use super::way::{WayTexts, way};
use super::workloads::{ProbeCard, Variant, WorkloadCard, rank};

/// Returns the card of a probe.
pub(super) fn probe_card<'a>(
    places: Places<'_>,
    keys: &FilterKeys<'_>,
    facts: &mut SharedFacts<'a>,
    workload: &WorkloadCard<'a>,
    probe: &ProbeCard<'a>,
) -> Markup {
    let mut content = element("summary").holding(summary(probe));
    let shown: Vec<&str> = probe
        .variants
        .iter()
        .flat_map(|variant| &variant.view.deciding)
        .filter_map(|line| line.place.as_deref())
        .collect();
    let findings = probe.findings.iter();
    let findings = findings.map(|finding| finding_block(places, finding, Shown::Probe(&shown)));
    let mut body: Markup = findings.collect();
    let is_single = probe.variants.len() == 1;
    for variant in &probe.variants {
        body.push(variant_block(facts, variant, is_single));
    }
    content.push(element("div").class("body").holding(body));
    let worst = probe.variants.iter().map(|variant| variant.view.outcome);
    let worst = worst.max_by_key(|outcome| rank(*outcome));
    element("details")
        .class(&format!(
            "item probe {}",
            worst.map_or("calm", outcome_class)
        ))
        .with("data-kind", "probe")
        .with("data-s", &statuses(probe))
        .with(
            "data-o",
            &joined(
                probe
                    .variants
                    .iter()
                    .map(|variant| variant.view.outcome.as_str()),
            ),
        )
        .with_some(
            "data-r",
            &joined(probe.findings.iter().map(|finding| finding.rule.as_str())),
        )
        .with("data-n", &keys.namespace(workload.namespace))
        .with_some(
            "data-e",
            &keys.environments(
                probe
                    .variants
                    .iter()
                    .flat_map(|variant| &*variant.environments),
            ),
        )
        .holding(content)
}

/// Returns words without duplicates, separated by spaces.
pub(super) fn joined<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all.join(" ")
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
        return Markup::new();
    };
    let row = &first.view.row;
    let mut name = element("b").text(&row.slot);
    if !row.container.is_empty() {
        name.push(element("span").class("of").text(&row.container));
    }
    name.push(element("code").text(&row.probe));
    let mut out = element("span").class("name").holding(name);
    let results = results(probe);
    let is_single = results.len() == 1;
    let results = results.into_iter().map(|result| {
        let mut content = tag(outcome_class(result.outcome), result.outcome.as_str());
        if !is_single {
            content.push(environment_names(&result.environments));
        }
        content.push(element("span").class("why").message(result.why));
        element("span").class("result").holding(content)
    });
    out.push(element("span").class("results").holding(results.collect()));
    out
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

fn environment_names(names: &[Arc<str>]) -> Markup {
    if names.is_empty() {
        return Markup::new();
    }
    element("span").class("env").text(&name_list(names))
}

/// Returns the prediction in some environments: its way, and what decides it.
fn variant_block<'a>(
    facts: &mut SharedFacts<'a>,
    variant: &Variant<'a>,
    is_single: bool,
) -> Markup {
    let view = variant.view;
    let row = &view.row;
    let mut content = Markup::new();
    let mut title = match (is_single, variant.environments.is_empty()) {
        (true, true) => Markup::new(),
        (_, true) => Markup::text("As written"),
        _ => Markup::text(&format!("In {}", name_list(&variant.environments))),
    };
    if !title.is_empty() {
        if !is_single {
            title.push(tag(outcome_class(view.outcome), view.outcome.as_str()));
        }
        content.push(element("h5").class("in").holding(title));
    }
    let texts = WayTexts {
        written: &row.probe,
        rewritten_to: &row.rewritten_to,
        outcome: view.outcome,
        why: &row.why,
    };
    content.push(way(&view.route, texts));
    content.push(fields(view));
    content.push(deciding_lines(&view.deciding));
    content.push(facts.link(&view.facts));
    element("div").class("variant").holding(content)
}

fn fields(view: &crate::report::prediction::ProbeView) -> Markup {
    let mut outcome = Markup::text(view.outcome.as_str());
    outcome.push(certainty(view.certainty.as_str()));
    let mut rows = vec![("outcome", outcome), ("place", place_of(&view.place))];
    if let Some(kubelet) = &view.kubelet {
        rows.push(("kubelet", element("code").text(kubelet)));
    }
    for text in &view.assumptions {
        rows.push(("assumed", Markup::message(text)));
    }
    for text in &view.otherwise {
        rows.push(("otherwise", Markup::message(text)));
    }
    field_list(rows)
}
