//! The form that filters the items of a report. It is hidden until the script runs.

use std::sync::Arc;

use maud::{Markup, html};

use super::markup::Text;

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
