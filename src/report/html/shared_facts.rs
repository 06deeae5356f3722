//! The facts behind predictions, which many probes share: each list of facts is written once.

use hashbrown::HashMap;
use maud::{Markup, html};

use crate::report::prediction::Line;

use super::lines::fact_table;

/// The lists of facts of a report, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct SharedFacts<'a> {
    numbers: HashMap<Vec<FactKey<'a>>, usize>,
    lists: Vec<&'a [Line]>,
}

/// What two equal facts have in common.
type FactKey<'a> = (
    &'static str,
    &'a str,
    &'static str,
    Vec<(&'a str, &'a [String])>,
);

impl<'a> SharedFacts<'a> {
    /// Returns the link to a list of facts; empty for an empty one.
    pub(super) fn link(&mut self, facts: &'a [Line]) -> Markup {
        if facts.is_empty() {
            return Markup::default();
        }
        let next = self.lists.len();
        let number = *self.numbers.entry(key(facts)).or_insert(next);
        if number == next {
            self.lists.push(facts);
        }
        html! { p.more { a href={ "#f" (number + 1) } { "Other facts of this prediction" } } }
    }

    /// Returns all lists, each with the id that links name; empty for no lists.
    pub(super) fn lists(&self) -> Markup {
        html! {
            @if !self.lists.is_empty() {
                p.lead { "Value, certainty and provenance of the facts to which the predictions link." }
                @for (number, facts) in (1_usize..).zip(&self.lists) {
                    details.factlist id={ "f" (number) } { summary { "Facts " (number) } (fact_table(facts)) }
                }
            }
        }
    }
}

fn key(facts: &[Line]) -> Vec<FactKey<'_>> {
    facts
        .iter()
        .map(|line| {
            let because = line.because.iter();
            let because = because.map(|reason| (reason.text.as_str(), reason.places.as_slice()));
            (
                line.name,
                line.value.as_str(),
                line.certainty,
                because.collect(),
            )
        })
        .collect()
}
