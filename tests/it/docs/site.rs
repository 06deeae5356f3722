//! The table of contents of the site, `docs/SUMMARY.md`, lists every page of `docs/`.
//!
//! `tests/e2e/site.sh` builds the site and checks its links.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;
use walkdir::WalkDir;

use crate::support::rule_docs::rule_docs;

const FILE: &str = "docs/SUMMARY.md";
const RULES: &str = "- [Rules](rules/README.md)\n";

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Returns the pages of `docs/`, relative to it.
fn pages() -> Vec<String> {
    let root = docs();
    let entries = WalkDir::new(&root).sort_by_file_name();
    let paths = entries.into_iter().map(|entry| {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(&root).unwrap();
        path.to_string_lossy().replace('\\', "/")
    });
    paths
        .filter(|path| path.ends_with(".md") && path != "SUMMARY.md")
        .collect()
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let link = Regex::new(r"\]\(([^)]+)\)").unwrap();
    let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
    for found in link.captures_iter(&summary) {
        *listed.entry(found.get(1).unwrap().as_str()).or_default() += 1;
    }
    let pages = pages();
    assert!(pages.len() > 250, "{} pages", pages.len());
    let expected: BTreeMap<&str, usize> = pages.iter().map(|page| (page.as_str(), 1)).collect();
    assert_eq!(listed, expected, "{FILE} lists other pages");
}

/// `MESHPROBE_UPDATE_DOCS=1` writes the list of rules.
#[test]
fn the_table_of_contents_lists_the_rules_below_their_index() {
    let file = docs().join("SUMMARY.md");
    let present = fs::read_to_string(&file).unwrap();
    let mut names: Vec<String> = rule_docs()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    let (before, rest) = present.split_once(RULES).unwrap();
    let after: String = rest
        .split_inclusive('\n')
        .skip_while(|line| line.starts_with("  - "))
        .collect();
    let list: String = names
        .iter()
        .map(|name| format!("  - [{}](rules/{name})\n", name.trim_end_matches(".md")))
        .collect();
    let wanted = [before, RULES, &list, &after].concat();
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == wanted,
        "{FILE} is out of date: run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it docs::site`"
    );
}
