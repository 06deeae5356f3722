//! The form that filters the items of a report. It is hidden until the script runs.

use std::collections::BTreeMap;

use maud::{Markup, html};
use meshprobe_predict::predict::Outcome;

use super::page::{Text, outcome_class};
use super::workloads::Workloads;

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

/// Returns the title of a namespace.
pub(super) fn namespace_title(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "no namespace written".to_owned(), str::to_owned)
}

/// Returns the form, which filters by text, and by severities or classes, each with the number of its items; empty if there
/// is nothing to filter.
pub(super) fn filters(legend: &str, words: impl Iterator<Item = (&'static str, usize)>) -> Markup {
    let words: Vec<(&str, usize)> = words.filter(|(_, count)| *count > 0).collect();
    if words.is_empty() {
        return Markup::default();
    }
    html! {
        form id="filters" role="search" aria-label="Filter the results" hidden {
            label.search {
                span { "Text" }
                input type="search" id="text" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"
                    placeholder="workload, file, message (press /)";
            }
            fieldset {
                legend { (legend) }
                @for (word, count) in words {
                    label {
                        input type="checkbox" name="status" value=(word) checked;
                        " " (if word == "none" { "no finding" } else { word }) " "
                        span.n { (count) }
                    }
                }
            }
            div.buttons {
                @for (id, text) in [("clear", "Reset"), ("open-all", "Open all"), ("close-all", "Close all")] {
                    button type="button" id=(id) { (text) }
                }
            }
            output id="count" aria-live="polite" {}
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
pub(super) fn overview(workloads: &Workloads<'_>) -> Markup {
    let namespaces = workloads.namespaces();
    let rows = counts(workloads);
    let has_environments = rows.keys().any(|(environment, _)| environment.is_some());
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
                                    (cells(&namespaces, *namespace, counts))
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

fn cells(namespaces: &[Option<&str>], namespace: Option<&str>, counts: &Counts) -> Markup {
    let number = namespaces.iter().position(|known| *known == namespace);
    html! {
        th scope="row" {
            a href={ "#n" (number.unwrap_or_default()) } { (Text(&namespace_title(namespace))) }
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
