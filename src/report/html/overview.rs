//! The overview: what is predicted per environment and namespace.

use std::collections::BTreeMap;

use crate::predict::Outcome;

use super::filters::{FilterKeys, namespace_title};
use super::markup::{Markup, element};
use super::tone::outcome_class;
use super::workloads::Workloads;

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
    if rows.is_empty() {
        return Markup::new();
    }
    let has_environments = !keys.environments.is_empty();
    let mut heads = vec!["namespace", "workloads", "probes", "share"];
    if has_environments {
        heads.insert(0, "environment");
    }
    heads.extend(Counts::default().parts().map(|(_, name, _)| name));
    let heads = heads
        .into_iter()
        .map(|name| element("th").with("scope", "col").text(name));
    let mut groups: Vec<(Option<&str>, Vec<Markup>)> = Vec::new();
    for ((environment, (_, namespace)), counts) in &rows {
        let cells = cells(keys, *namespace, counts);
        match groups.last_mut() {
            Some((known, rows)) if known == environment => rows.push(cells),
            _ => groups.push((*environment, vec![cells])),
        }
    }
    let bodies = groups.into_iter().map(|(environment, rows)| {
        let size = rows.len().to_string();
        let rows = rows.into_iter().enumerate().map(|(number, cells)| {
            let mut row = Markup::new();
            if number == 0 && has_environments {
                let head = element("th")
                    .with("scope", "rowgroup")
                    .with("rowspan", &size);
                row.push(head.text(environment.unwrap_or("as written")));
            }
            row.push(cells);
            element("tr").holding(row)
        });
        element("tbody").holding(rows.collect())
    });
    let mut table = element("thead").holding(element("tr").holding(heads.collect()));
    table.push(bodies.collect());
    let table = element("table").class("overview").holding(table);
    element("div")
        .class("scroll")
        .with("role", "region")
        .with("aria-label", "Predictions by environment and namespace")
        .with("tabindex", "0")
        .holding(table)
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
                counts.add(variant.view.outcome);
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
    let link = element("a").with("href", &format!("#n{}", keys.namespace(namespace)));
    let name = link.text(&namespace_title(namespace));
    let mut out = element("th").with("scope", "row").holding(name);
    let number = |count: usize| element("td").class("num").text(&count.to_string());
    out.push(number(counts.workloads));
    out.push(number(counts.probes()));
    out.push(element("td").holding(bar(counts)));
    for (class, _, count) in counts.parts() {
        let class = if count == 0 { "num zero" } else { class };
        out.push(
            element("td")
                .class(&format!("num {class}"))
                .text(&count.to_string()),
        );
    }
    out
}

/// Returns a bar with the share of each outcome. The columns next to it contain the numbers.
fn bar(counts: &Counts) -> Markup {
    let all = counts.probes().max(1);
    let mut start = 0;
    let parts = counts.parts().into_iter().map(|(class, _, count)| {
        let end = start + count;
        let (from, to) = (start * 1000 / all, end * 1000 / all);
        start = end;
        element("rect")
            .class(class)
            .with("x", &from.to_string())
            .with("width", &(to - from).to_string())
            .with("height", "8")
            .holding(Markup::new())
    });
    element("svg")
        .class("bar")
        .with("viewBox", "0 0 1000 8")
        .with("preserveAspectRatio", "none")
        .with("aria-hidden", "true")
        .holding(parts.collect())
}
