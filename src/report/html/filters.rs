//! The form that filters the items of a report. It is hidden until the script runs.

use std::sync::Arc;

use super::markup::{Markup, element};

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
        return Markup::new();
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
    let content = [
        search_field(),
        status_boxes(&choices.statuses),
        select("environment", "Environment", numbered(environments)),
        select("namespace", "Namespace", numbered(namespaces)),
        select("outcome", "Outcome", own(&choices.outcomes)),
        select("rule", "Rule", own(&choices.rules)),
        buttons(),
        element("output")
            .with("id", "count")
            .with("aria-live", "polite")
            .holding(Markup::new()),
    ];
    element("form")
        .with("id", "filters")
        .with("role", "search")
        .with("aria-label", "Filter the results")
        .flag("hidden")
        .holding(content.into_iter().collect())
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let names = names.enumerate();
    names
        .map(|(number, name)| (number.to_string(), name))
        .collect()
}

fn search_field() -> Markup {
    let mut content = element("span").text("Text");
    let input = element("input")
        .with("type", "search")
        .with("id", "text")
        .with("autocomplete", "off")
        .with("spellcheck", "false")
        .with("aria-keyshortcuts", "/")
        .with("placeholder", "workload, file, message (press /)");
    content.push(input.void());
    element("label").class("search").holding(content)
}

fn status_boxes(choice: &Choice) -> Markup {
    let boxes = choice.words.iter().map(|(word, count)| {
        let mut content = element("input")
            .with("type", "checkbox")
            .with("name", "status")
            .with("value", word)
            .flag("checked")
            .void();
        let title = if word == "none" { "no finding" } else { word };
        content.push(Markup::text(&format!(" {title} ")));
        content.push(element("span").class("n").text(&count.to_string()));
        element("label").holding(content)
    });
    let mut content = element("legend").text(choice.legend);
    content.push(boxes.collect());
    element("fieldset").holding(content)
}

/// Returns a choice of one value; empty if there are less than two.
fn select(id: &'static str, title: &str, options: Vec<(String, String)>) -> Markup {
    if options.len() < 2 {
        return Markup::new();
    }
    let mut choices = element("option").with("value", "").text("all");
    let options = options
        .iter()
        .map(|(value, text)| element("option").with("value", value).text(text));
    choices.push(options.collect());
    let mut content = element("span").text(title);
    content.push(element("select").with("id", id).holding(choices));
    element("label").holding(content)
}

fn buttons() -> Markup {
    let button = |id, text| {
        element("button")
            .with("type", "button")
            .with("id", id)
            .text(text)
    };
    let buttons = [
        button("clear", "Reset"),
        button("open-all", "Open all"),
        button("close-all", "Close all"),
    ];
    element("div")
        .class("buttons")
        .holding(buttons.into_iter().collect())
}
