//! The workloads with their probes, by namespace.

use maud::{Markup, html};

use crate::report::counted::counted;

use super::filters::{FilterKeys, namespace_title};
use super::finding_block::tag;
use super::lines::place_of;
use super::markup::Text;
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
    html! {
        @for namespace in &keys.namespaces {
            @let cards = workloads.cards.iter().filter(|card| card.namespace == *namespace).collect::<Vec<_>>();
            div class="group namespace" {
                h3 id={ "n" (keys.namespace(*namespace)) } tabindex="-1" {
                    (Text(&namespace_title(*namespace)))
                    span.n { (counted(cards.len(), "workload")) }
                }
                @for card in cards {
                    article class="group workload" {
                        h4 { span { (Text(card.name)) } (counts(card)) (place_of(card.place)) }
                        @for probe in &card.probes { (probe_card(places, keys, facts, card, probe)) }
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
    html! {
        span.counts { @for (class, name, count) in counts { (tag(class, &format!("{count} {name}"))) } }
    }
}
