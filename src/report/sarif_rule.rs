//! The rules that a SARIF report names.

use meshprobe_mesh::finding::{Severity, docs_url, page_url};
use meshprobe_rules::rules::{map_links, without_links};
use serde_json::{Value, json};

use super::rules::{reason, summary};
use crate::engine::Notice;

/// The length at which code scanning cuts descriptions.
const DESCRIPTION: usize = 1024;

/// Returns the descriptor of a rule or notice.
pub(super) fn rule(notice: &Notice) -> Value {
    let short = summary(notice);
    let full = [short.clone(), reason(notice)].join(" ");
    let docs = notice.docs();
    json!({
        "id": notice.id.as_str(),
        "shortDescription": { "text": cut(&short) },
        "fullDescription": { "text": cut(full.trim()) },
        "help": { "text": without_links(&docs), "markdown": absolute_links(&docs) },
        "helpUri": docs_url(notice.id),
        "defaultConfiguration": { "level": notice.severity.as_str() },
        "properties": {
            "tags": ["kubernetes", "service-mesh"],
            "precision": "high",
            "problem.severity": problem(notice.severity),
        },
    })
}

/// Returns the text of a page of `docs/rules` with the URLs of the pages that it links to.
fn absolute_links(docs: &str) -> String {
    map_links(docs, |text, target| {
        let url = match target.strip_prefix("../") {
            _ if target.starts_with("https://") => target.to_owned(),
            Some(page) => page_url(page),
            None => page_url(&format!("rules/{target}")),
        };
        format!("[{text}]({url})")
    })
}

/// Shortens a description to the length that code scanning shows.
fn cut(text: &str) -> String {
    if text.chars().count() <= DESCRIPTION {
        return text.to_owned();
    }
    text.chars().take(DESCRIPTION - 1).chain(['…']).collect()
}

/// Returns the value of `problem.severity`.
const fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "recommendation",
    }
}
