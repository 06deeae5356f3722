//! Every address below [`DOCS_URL`] that a report or the help prints belongs to a page of `docs/`, and its anchor to a heading.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshprobe::finding::{DOCS_URL, page_url};
use regex::Regex;

use crate::support::meshprobe;

/// The formats of `check`, all of which name rules.
const FORMATS: [&str; 8] = [
    "full", "concise", "json", "sarif", "github", "summary", "gitlab", "junit",
];

/// Returns the addresses of the documentation in a text.
fn addresses(text: &str) -> BTreeSet<String> {
    let address = Regex::new(&format!(r#"{}[^\s"'<>)\\]*"#, regex::escape(DOCS_URL))).unwrap();
    address
        .find_iter(text)
        .map(|found| found.as_str().trim_end_matches(['.', ',']).to_owned())
        .collect()
}

/// Returns what is wrong with an address; `None` if its page and its heading exist.
fn fault(address: &str) -> Option<String> {
    let (page, anchor) = address.split_once('#').unwrap_or((address, ""));
    let path = page.strip_prefix(DOCS_URL)?.trim_start_matches('/');
    let path = path.replace(".html", ".md");
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(&path);
    if file.is_dir() {
        return None;
    }
    let Ok(text) = fs::read_to_string(&file) else {
        return Some(format!("{address}: docs/{path} does not exist"));
    };
    let is_heading = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        line.starts_with('#') && kept.collect::<String>().replace(' ', "-") == anchor
    };
    (!anchor.is_empty() && !text.lines().any(is_heading))
        .then(|| format!("{address}: docs/{path} has no such heading"))
}

#[test]
fn the_page_of_every_rule_exists() {
    let notices = meshprobe::engine::explained();
    assert!(notices.len() > 200, "{} ids", notices.len());
    let faults: Vec<String> = notices
        .iter()
        .filter_map(|notice| fault(&meshprobe::finding::docs_url(notice.id)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_address_in_a_report_belongs_to_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    // The fixtures of the rules are large: two formats contain all of their addresses.
    let demo = FORMATS.map(|format| (format, "fixtures/demo"));
    let rules = ["full", "sarif"].map(|format| (format, "fixtures/rules"));
    for (format, tree) in demo.into_iter().chain(rules) {
        let arguments = ["check", "--isolated", "--output-format", format, tree];
        let run = meshprobe(root, &arguments, "");
        found.extend(addresses(&run.stdout));
        found.extend(addresses(&run.stderr));
    }
    found.extend(addresses(&meshprobe(root, &["rule", "--all"], "").stdout));
    found.extend(addresses(&meshprobe::krm::definition().unwrap()));
    assert!(found.len() > 100, "{} addresses", found.len());
    let faults: Vec<String> = found.iter().filter_map(|address| fault(address)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_broken_address_is_reported() {
    for page in ["rules/no-such-rule.md", "configuration.md#no-such-heading"] {
        assert!(fault(&page_url(page)).is_some(), "{page}");
    }
    assert_eq!(fault(&page_url("configuration.md#suppressions")), None);
}
