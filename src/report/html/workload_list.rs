//! The workloads with their probes, by namespace.

use crate::report::counted::counted;

use super::filters::{FilterKeys, namespace_title};
use super::finding_block::tag;
use super::lines::place_of;
use super::markup::{Markup, element};
use super::places::Places;
use super::probe_card::probe_card;
use super::shared_facts::SharedFacts;
use super::tone::outcome_class;
use super::workloads::{WorkloadCard, Workloads};

/// Returns the workloads, one group per namespace.
pub(super) fn workload_list<'a>(
    places: Places<'_>,
    keys: &FilterKeys<'_>,
    facts: &mut SharedFacts<'a>,
    workloads: &Workloads<'a>,
) -> Markup {
    let mut out = Markup::new();
    for namespace in &keys.namespaces {
        let cards = workloads
            .cards
            .iter()
            .filter(|card| card.namespace == *namespace);
        let cards: Vec<&WorkloadCard<'_>> = cards.collect();
        let title = namespace_title(*namespace);
        let mut heading = Markup::text(&title);
        heading.push(
            element("span")
                .class("n")
                .text(&counted(cards.len(), "workload")),
        );
        let id = format!("n{}", keys.namespace(*namespace));
        let mut content = element("h3")
            .with("id", &id)
            .with("tabindex", "-1")
            .holding(heading);
        for card in cards {
            content.push(workload(places, keys, facts, card));
        }
        out.push(element("div").class("group namespace").holding(content));
    }
    out
}

fn workload<'a>(
    places: Places<'_>,
    keys: &FilterKeys<'_>,
    facts: &mut SharedFacts<'a>,
    card: &WorkloadCard<'a>,
) -> Markup {
    let mut name = element("span").text(card.name);
    name.push(counts(card));
    name.push(place_of(card.place));
    let mut content = element("h4").holding(name);
    for probe in &card.probes {
        content.push(probe_card(places, keys, facts, card, probe));
    }
    element("article").class("group workload").holding(content)
}

/// Returns the number of probes with each outcome, in all environments together.
fn counts(card: &WorkloadCard<'_>) -> Markup {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for variant in card.variants() {
        let outcome = variant.view.outcome;
        let number = variant.environments.len().max(1);
        match counts
            .iter_mut()
            .find(|(_, name, _)| *name == outcome.as_str())
        {
            Some((.., count)) => *count += number,
            None => counts.push((outcome_class(outcome), outcome.as_str(), number)),
        }
    }
    let tags = counts
        .into_iter()
        .map(|(class, name, count)| tag(class, &format!("{count} {name}")));
    element("span").class("counts").holding(tags.collect())
}
