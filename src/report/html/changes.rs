//! The report of `diff`: the changes by cause, with both states next to each other.

use std::sync::Arc;

use maud::{Markup, html};

use crate::diff::{Change, Class, Group, groups};
use crate::report::changes::{Changes, last_lines, summary};
use crate::report::terminal_style::TerminalStyle;

use super::change_item::{change_item, namespace};
use super::check::sorted;
use super::filters::{Choice, Choices, FilterKeys, filters};
use super::finding_block::{field_list, tag};
use super::lines::place_of;
use super::markup::{Message, Text};
use super::page::Page;
use super::places::Places;
use super::tiles::{Tile, tiles};
use super::tone::change_class;

/// Returns the changes between two states as one HTML file.
#[must_use]
pub fn html_changes(changes: &Changes<'_>) -> String {
    let all = &changes.comparison.changes;
    let keys = FilterKeys {
        namespaces: namespaces(all),
        environments: environments(all),
    };
    let groups = groups(all);
    let blocks = html! { @for group in &groups { (block(changes, &keys, group)) } };
    let lines = changes.not_judged_lines();
    let not_judged = html! {
        @if !lines.is_empty() { ul.lines { @for line in &lines { li { (Message(line)) } } } }
    };
    let page = Page {
        title: "Changes of health probes",
        header: header(changes),
        filters: filters(&choices(all, &keys)),
        sections: vec![
            ("changes", "Changes by cause", blocks),
            ("not-judged", "Not judged", not_judged),
            ("run", "About this run", run_facts(changes)),
        ],
    };
    page.into_html()
}

fn header(changes: &Changes<'_>) -> Markup {
    let between = format!(
        "{} between {} and {}.",
        summary(changes.comparison),
        changes.before.name,
        changes.after.name
    );
    let all = Class::ALL.map(|class| Tile {
        class: change_class(class),
        name: class.as_str(),
        count: count(&changes.comparison.changes, class),
    });
    html! { p.lead { (Message(&between)) } (tiles(&all)) }
}

fn count(changes: &[Change], class: Class) -> usize {
    changes
        .iter()
        .filter(|change| change.class == class)
        .count()
}

fn run_facts(changes: &Changes<'_>) -> Markup {
    let message = |text: &str| html! { (Message(text)) };
    let version = html! { "meshprobe " (env!("CARGO_PKG_VERSION")) };
    let mut rows = vec![
        ("tool", version),
        ("before", message(changes.before.name)),
        ("after", message(changes.after.name)),
    ];
    let notes = changes.comparison.notes.iter();
    rows.extend(notes.map(|note| ("note", message(note))));
    let lines = last_lines(changes, TerminalStyle::PLAIN);
    // The header contains the first line.
    let lines = lines.lines().skip(1);
    let is_listed = |line: &&str| changes.not_judged_lines().iter().any(|known| known == line);
    rows.extend(
        lines
            .filter(|line| !is_listed(line))
            .map(|line| ("note", message(line))),
    );
    field_list(rows)
}

/// Returns the changes with one cause.
fn block(changes: &Changes<'_>, keys: &FilterKeys<'_>, group: &Group<'_>) -> Markup {
    let class = change_class(group.class);
    let finding = group.changes.first().and_then(|change| change.finding());
    let text = match finding {
        Some(finding) => format!("finding {}", finding.rule),
        None => changes.sentence(group),
    };
    let cause = group.cause.and_then(|cause| {
        let places = Places {
            set: changes.state_of(cause.side).set,
            root: changes.root,
        };
        let label = cause.place.as_ref()?;
        Some((places.place(label), places.line(label)))
    });
    html! {
        article class={ "group cause-group " (class) } {
            h3 { (tag(class, group.class.as_str())) span { (Message(&text)) } }
            @if let Some((place, line)) = cause {
                div.cause { (place_of(&place)) @if let Some(line) = line { pre { (Text(&line)) } } }
            }
            @for change in &group.changes { (change_item(changes, keys, change)) }
        }
    }
}

fn namespaces(changes: &[Change]) -> Vec<Option<&str>> {
    let mut names: Vec<Option<&str>> = changes.iter().map(namespace).collect();
    names.sort_unstable_by_key(|name| (name.is_none(), *name));
    names.dedup();
    names
}

fn environments(changes: &[Change]) -> Vec<&str> {
    let names = changes
        .iter()
        .filter_map(|change| change.probe()?.environment_name.as_ref());
    let mut names: Vec<&str> = names.map(|name: &Arc<str>| &**name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn choices<'a>(changes: &[Change], keys: &'a FilterKeys<'a>) -> Choices<'a> {
    let words = Class::ALL.map(|class| (class.as_str().to_owned(), count(changes, class)));
    let outcomes = changes.iter().flat_map(|change| {
        let (before, after) = change.probe_states();
        before
            .into_iter()
            .chain(after)
            .map(|state| state.outcome.as_str())
    });
    let rules = changes
        .iter()
        .filter_map(|change| Some(change.finding()?.rule.as_str()));
    Choices {
        statuses: Choice {
            legend: "Class",
            words: words.into_iter().filter(|(_, count)| *count > 0).collect(),
        },
        outcomes: sorted(outcomes),
        rules: sorted(rules),
        keys,
    }
}
