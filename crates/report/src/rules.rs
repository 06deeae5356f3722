//! Formats the documentation of rules: pages, the index, and a list for programs.

use meshprobe_rules::rules::{self, FixAvailability, Rule};
use serde::Serialize;

use meshprobe_engine::engine::{Notice, explained};

/// The kind of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A rule over predictions.
    Rule,
    /// A problem that prevents the check of a file, or an error in a suppression.
    Notice,
    /// A guard of `rewrite`.
    Guard,
}

fn kind(notice: &Notice) -> Kind {
    if notice.id.is_guard() {
        Kind::Guard
    } else if rules::all().iter().any(|rule| rule.id == notice.id) {
        Kind::Rule
    } else {
        Kind::Notice
    }
}

fn fix(notice: &Notice) -> &'static str {
    rule(notice)
        .map_or(FixAvailability::None, |rule| rule.fix)
        .as_str()
}

/// Returns the rule of a page; `None` for a notice or a guard.
fn rule(notice: &Notice) -> Option<&'static Rule> {
    let mut rules = rules::all().iter().copied();
    rules.find(|rule| rule.id == notice.id)
}

/// Returns the first sentence of the page of a rule, notice or guard.
#[must_use]
pub fn rule_summary(notice: &Notice) -> String {
    first_sentence(&summary(notice)).to_owned()
}

/// Returns the first paragraph on one line.
pub(super) fn summary(notice: &Notice) -> String {
    paragraph(notice.docs().lines())
}

/// Returns the first paragraph of "Why it matters" on one line; empty if it is missing.
pub(super) fn reason(notice: &Notice) -> String {
    let docs = notice.docs();
    let below = docs
        .lines()
        .skip_while(|line| *line != "## Why it matters")
        .skip(1);
    paragraph(below.skip_while(|line| line.trim().is_empty()))
}

fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines
        .take_while(|line| !line.trim().is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the page of a rule, notice or guard for a terminal: Markdown without links.
#[must_use]
pub fn rule_page(notice: &Notice) -> String {
    let severity = notice.severity.as_str();
    let body = rules::without_links(rules::page_body(notice.page));
    let since = since(notice.page);
    format!("# {} ({severity})\n\n{body}\n\n{since}\n", notice.id)
}

/// Returns the releases of the mesh and of meshprobe from the metadata of a page: the text after severity and fix.
fn since(page: &str) -> &str {
    let line = rules::page_metadata(page);
    let start = ["Mesh: ", "Since meshprobe "]
        .iter()
        .find_map(|word| line.find(word));
    start
        .and_then(|start| line.get(start..))
        .unwrap_or_default()
}

/// Returns one line per rule and notice, then one per guard: the id, the severity and a summary.
#[must_use]
pub fn rule_list() -> String {
    let all = explained();
    let width = all.iter().map(|notice| notice.id.as_str().len()).max();
    let width = width.unwrap_or_default();
    let line = |notice: &Notice| {
        format!(
            "{:width$}  {:7}  {}\n",
            notice.id.as_str(),
            notice.severity.as_str(),
            first_sentence(&summary(notice))
        )
    };
    let lines = |is_guard: bool| {
        all.iter()
            .filter(|notice| notice.id.is_guard() == is_guard)
            .map(line)
            .collect::<String>()
    };
    format!("{}\nGuards of rewrite:\n{}", lines(false), lines(true))
}

pub(super) fn first_sentence(text: &str) -> &str {
    text.split_once(". ")
        .map_or_else(|| text.trim_end_matches('.'), |(sentence, _)| sentence)
}

/// Returns all rules, notices and guards in JSON, version 1.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn rules_json() -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Entry {
        id: &'static str,
        kind: Kind,
        severity: &'static str,
        fix: &'static str,
        summary: String,
        docs: String,
    }
    #[derive(Serialize)]
    struct List {
        version: u32,
        rules: Vec<Entry>,
    }
    let entry = |notice: &Notice| Entry {
        id: notice.id.as_str(),
        kind: kind(notice),
        severity: notice.severity.as_str(),
        fix: fix(notice),
        summary: summary(notice),
        docs: notice.docs(),
    };
    let list = List {
        version: 1,
        rules: explained().iter().map(entry).collect(),
    };
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}
