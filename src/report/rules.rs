//! The documentation of rules: pages, the index, a list for programs.

use serde::Serialize;

use crate::engine::{Notice, explained, is_guard};
use crate::rules::{self, FixAvailability};

/// Says in the first line of a generated file that it is one.
const GENERATED: &str = "<!-- Generated from the doc comments of the rules. -->\n\n";

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A rule over predictions.
    Rule,
    /// Something that keeps a file from being judged, or a mistake of the user's.
    Notice,
    /// A guard of `rewrite`.
    Guard,
}

fn kind(notice: &Notice) -> Kind {
    if is_guard(notice.id) {
        Kind::Guard
    } else if rules::all().iter().any(|rule| rule.id == notice.id) {
        Kind::Rule
    } else {
        Kind::Notice
    }
}

fn fix(notice: &Notice) -> &'static str {
    let rule = rules::all().iter().find(|rule| rule.id == notice.id);
    match rule.map(|rule| rule.fix) {
        Some(FixAvailability::Always) => "always",
        Some(FixAvailability::Sometimes) => "sometimes",
        Some(FixAvailability::None) | None => "none",
    }
}

/// Returns the documentation without the blank behind `///` that doc comments keep.
pub(super) fn documentation(notice: &Notice) -> String {
    let is_comment = notice.docs.starts_with(' ');
    let strip = |line: &'static str| {
        line.strip_prefix(' ')
            .filter(|_| is_comment)
            .unwrap_or(line)
    };
    let lines: Vec<&str> = notice.docs.trim().lines().map(strip).collect();
    lines.join("\n")
}

/// The first paragraph, on one line.
pub(super) fn summary(notice: &Notice) -> String {
    paragraph(documentation(notice).lines())
}

/// The first paragraph under "Why it matters", on one line; empty where there is none.
pub(super) fn reason(notice: &Notice) -> String {
    let docs = documentation(notice);
    let below = docs
        .lines()
        .skip_while(|line| *line != "## Why it matters")
        .skip(1);
    paragraph(below.skip_while(|line| line.trim().is_empty()))
}

fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines = lines.take_while(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Explains a rule, a notice or a guard in Markdown.
#[must_use]
pub fn rule_page(notice: &Notice) -> String {
    let severity = notice.severity.as_str();
    format!(
        "# {} ({severity})\n\n{}\n",
        notice.id,
        documentation(notice)
    )
}

/// Lists everything that can be explained in JSON, version 1.
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
        id: notice.id,
        kind: kind(notice),
        severity: notice.severity.as_str(),
        fix: fix(notice),
        summary: summary(notice),
        docs: documentation(notice),
    };
    let list = List {
        version: 1,
        rules: explained().iter().map(entry).collect(),
    };
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}

/// Returns the files of `docs/rules`, sorted, each with its text: one page per id and the index.
#[must_use]
pub fn rule_docs() -> Vec<(String, String)> {
    let all = explained();
    let mut files = vec![("README.md".to_owned(), index(&all))];
    for notice in &all {
        let text = format!("{GENERATED}{}", page_of_file(notice));
        files.push((format!("{}.md", notice.id), text));
    }
    files
}

fn page_of_file(notice: &Notice) -> String {
    let severity = notice.severity.as_str();
    let line = match kind(notice) {
        Kind::Rule => format!("Severity: {severity}. Fix: {}.", fix(notice)),
        Kind::Notice => format!("Severity: {severity}."),
        Kind::Guard => format!("Severity: {severity}. A guard of `rewrite`."),
    };
    format!("# {}\n\n{line}\n\n{}\n", notice.id, documentation(notice))
}

fn index(all: &[Notice]) -> String {
    let rows = |wanted: Kind| {
        let of_kind = all.iter().filter(|notice| kind(notice) == wanted);
        of_kind.map(row).collect::<String>()
    };
    let table = "| id | severity | fix | summary |\n|---|---|---|---|\n";
    format!(
        "{GENERATED}# Rules\n\nWhat `meshprobe check` reports. `meshprobe rule ID` prints the same pages.\n\n\
         The severity is that of a finding whose facts are all known; an assumption takes it one \
         step down.\n\n{table}{}\n\
         ## Notices\n\nWhat keeps a file from being judged, and mistakes in suppressions.\n\n{table}{}\n\
         ## Guards of rewrite\n\nWhy `meshprobe rewrite` leaves a pod as it was, or what to know where it does not.\n\n{table}{}",
        rows(Kind::Rule),
        rows(Kind::Notice),
        rows(Kind::Guard),
    )
}

fn row(notice: &Notice) -> String {
    let id = notice.id;
    let summary = summary(notice).replace('|', "\\|");
    let (severity, fix) = (notice.severity.as_str(), fix(notice));
    format!("| [{id}]({id}.md) | {severity} | {fix} | {summary} |\n")
}
