//! The form that filters the items of a report, and the overview that links to it. The form is hidden until the script runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use maud::{Markup, html};
use meshprobe_predict::predict::Outcome;

use super::page::{Text, outcome_class};
use super::workloads::Workloads;

/// The numbers by which filters select namespaces and environments.
#[derive(Debug)]
pub(super) struct FilterKeys<'a> {
    /// The namespaces; `None` for objects without one.
    pub(super) namespaces: Vec<Option<&'a str>>,
    /// The environments.
    pub(super) environments: Vec<&'a str>,
}

impl FilterKeys<'_> {
    /// Returns the number of a namespace.
    pub(super) fn namespace(&self, namespace: Option<&str>) -> String {
        let position = self.namespaces.iter().position(|known| *known == namespace);
        position.map_or_else(String::new, |number| number.to_string())
    }

    /// Returns the numbers of environments, separated by spaces.
    pub(super) fn environments<'n>(&self, names: impl Iterator<Item = &'n Arc<str>>) -> String {
        let mut numbers: Vec<usize> = names
            .filter_map(|name| self.environments.iter().position(|known| **known == **name))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        numbers.join(" ")
    }
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

/// Returns the value of an attribute that is omitted if it is empty.
pub(super) fn some(value: String) -> Option<String> {
    Some(value).filter(|value| !value.is_empty())
}

/// Returns the title of a namespace.
pub(super) fn namespace_title(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "no namespace written".to_owned(), str::to_owned)
}

/// A choice of several words, with the number of items of each.
#[derive(Debug)]
pub(super) struct Choice {
    /// The heading.
    pub(super) legend: &'static str,
    /// The words, and how many items have each.
    pub(super) words: Vec<(String, usize)>,
}

/// The choices of a form.
#[derive(Debug)]
pub(super) struct Choices<'a> {
    /// The choice of severities or classes: check boxes.
    pub(super) statuses: Choice,
    /// The outcomes; may be empty.
    pub(super) outcomes: Vec<String>,
    /// The rules; may be empty.
    pub(super) rules: Vec<String>,
    /// The namespaces and environments.
    pub(super) keys: &'a FilterKeys<'a>,
}

/// Returns the form; empty if there is nothing to filter.
pub(super) fn filters(choices: &Choices<'_>) -> Markup {
    if choices.statuses.words.is_empty() {
        return Markup::default();
    }
    let keys = choices.keys;
    let own = |words: &[String]| {
        words
            .iter()
            .map(|word| (word.clone(), word.clone()))
            .collect()
    };
    let namespaces = keys.namespaces.iter().map(|name| namespace_title(*name));
    let environments = keys.environments.iter().map(|name| (*name).to_owned());
    html! {
        form id="filters" role="search" aria-label="Filter the results" hidden {
            label.search {
                span { "Text" }
                input type="search" id="text" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"
                    placeholder="workload, file, message (press /)";
            }
            fieldset {
                legend { (choices.statuses.legend) }
                @for (word, count) in &choices.statuses.words {
                    label {
                        input type="checkbox" name="status" value=(word) checked;
                        " " (if word == "none" { "no finding" } else { word }) " "
                        span.n { (count) }
                    }
                }
            }
            (select("environment", "Environment", numbered(environments)))
            (select("namespace", "Namespace", numbered(namespaces)))
            (select("outcome", "Outcome", own(&choices.outcomes)))
            (select("rule", "Rule", own(&choices.rules)))
            div.buttons {
                @for (id, text) in [("clear", "Reset"), ("open-all", "Open all"), ("close-all", "Close all")] {
                    button type="button" id=(id) { (text) }
                }
            }
            output id="count" aria-live="polite" {}
        }
    }
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let names = names.enumerate();
    names
        .map(|(number, name)| (number.to_string(), name))
        .collect()
}

/// Returns a choice of one value; empty if there are less than two.
fn select(id: &'static str, title: &str, options: Vec<(String, String)>) -> Markup {
    html! {
        @if options.len() > 1 {
            label {
                span { (title) }
                select id=(id) {
                    option value="" { "all" }
                    @for (value, text) in &options { option value=(Text(value)) { (Text(text)) } }
                }
            }
        }
    }
}

/// The number of workloads, and of probes by outcome.
#[derive(Clone, Debug, Default)]
struct Counts {
    workloads: usize,
    good: usize,
    bad: usize,
    unknown: usize,
    outside: usize,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        let count = match outcome_class(outcome) {
            "good" => &mut self.good,
            "warn" => &mut self.unknown,
            "calm" => &mut self.outside,
            _ => &mut self.bad,
        };
        *count += 1;
    }

    /// Returns the numbers with their classes and names, the worst first.
    const fn parts(&self) -> [(&'static str, &'static str, usize); 4] {
        [
            ("bad", "broken", self.bad),
            ("warn", "unknown", self.unknown),
            ("good", "ok", self.good),
            ("calm", "not in mesh", self.outside),
        ]
    }

    fn probes(&self) -> usize {
        self.parts().iter().map(|(.., count)| count).sum()
    }
}

/// Returns the table: one row per environment and namespace.
pub(super) fn overview(workloads: &Workloads<'_>, keys: &FilterKeys<'_>) -> Markup {
    let rows = counts(workloads);
    let has_environments = !keys.environments.is_empty();
    let mut groups: Vec<(Option<&str>, Vec<_>)> = Vec::new();
    for ((environment, (_, namespace)), counts) in rows {
        match groups.last_mut() {
            Some((known, rows)) if *known == environment => rows.push((namespace, counts)),
            _ => groups.push((environment, vec![(namespace, counts)])),
        }
    }
    let own = has_environments.then_some("environment");
    let heads = own
        .into_iter()
        .chain(["namespace", "workloads", "probes", "share"]);
    html! {
        @if !groups.is_empty() {
            div.scroll role="region" aria-label="Predictions by environment and namespace" tabindex="0" {
                table.overview {
                    thead {
                        tr {
                            @for name in heads { th scope="col" { (name) } }
                            @for (_, name, _) in Counts::default().parts() { th scope="col" { (name) } }
                        }
                    }
                    @for (environment, rows) in &groups {
                        tbody {
                            @for (number, (namespace, counts)) in rows.iter().enumerate() {
                                tr {
                                    @if number == 0 && has_environments {
                                        th scope="rowgroup" rowspan=(rows.len()) {
                                            (Text(environment.unwrap_or("as written")))
                                        }
                                    }
                                    (cells(keys, *namespace, counts))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The environment, and the namespace after those that are written.
type RowKey<'a> = (Option<&'a str>, (bool, Option<&'a str>));

fn counts<'a>(workloads: &'a Workloads<'_>) -> BTreeMap<RowKey<'a>, Counts> {
    let mut rows: BTreeMap<RowKey<'_>, Counts> = BTreeMap::new();
    for card in &workloads.cards {
        let namespace = (card.namespace.is_none(), card.namespace);
        let mut counted: Vec<Option<&str>> = Vec::new();
        for variant in card.variants() {
            let names = variant.environments.iter().map(|name| Some(&**name));
            let names: Vec<Option<&str>> = match variant.environments.is_empty() {
                true => vec![None],
                false => names.collect(),
            };
            for name in names {
                let counts = rows.entry((name, namespace)).or_default();
                counts.add(variant.probe.outcome);
                if !counted.contains(&name) {
                    counts.workloads += 1;
                    counted.push(name);
                }
            }
        }
    }
    rows
}

fn cells(keys: &FilterKeys<'_>, namespace: Option<&str>, counts: &Counts) -> Markup {
    html! {
        th scope="row" {
            a href={ "#n" (keys.namespace(namespace)) } { (Text(&namespace_title(namespace))) }
        }
        td.num { (counts.workloads) }
        td.num { (counts.probes()) }
        td { (bar(counts)) }
        @for (class, _, count) in counts.parts() {
            td class={ "num " (if count == 0 { "zero" } else { class }) } { (count) }
        }
    }
}

/// Returns a bar with the share of each outcome. The columns next to it contain the numbers.
fn bar(counts: &Counts) -> Markup {
    let all = counts.probes().max(1);
    let mut start = 0;
    let parts = counts.parts().map(|(class, _, count)| {
        let from = start * 1000 / all;
        start += count;
        (class, from, start * 1000 / all - from)
    });
    html! {
        svg.bar viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true" {
            @for (class, from, width) in parts { rect class=(class) x=(from) width=(width) height="8" {} }
        }
    }
}
