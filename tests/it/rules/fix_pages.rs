//! The reasons of fixes, and what the pages say about them, on the fixtures.

use std::collections::{BTreeMap, BTreeSet};

use meshprobe::rules::{FixAvailability, Rule};
use serde_json::Value;

use super::fixture::fixtures;

/// The applicability in JSON, and the word for it in the section "Fix safety".
const DEGREES: [(&str, &str); 3] = [
    ("safe", "safe"),
    ("unsafe", "unsafe"),
    ("display-only", "displayed"),
];

fn text<'a>(fix: &'a Value, key: &str) -> Option<&'a str> {
    fix.get(key).and_then(Value::as_str)
}

/// Returns all fixes of the fixtures, with the rule and the name of the fixture.
fn fixes() -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for fixture in fixtures() {
        for finding in fixture.findings() {
            let rule = finding["rule"].as_str().unwrap().to_owned();
            let fix = finding["fix"].clone();
            if !fix.is_null() {
                all.push((rule, format!("{}/{}", fixture.rule, fixture.name()), fix));
            }
        }
    }
    all
}

/// A fix that is not applied by default has a reason that fits into "(by hand, because …)".
#[test]
fn fixes_that_are_not_safe_have_a_specific_reason() {
    for (rule, fixture, fix) in fixes() {
        let reason = text(&fix, "reason");
        let is_safe = text(&fix, "applicability") == Some("safe");
        assert_eq!(reason.is_none(), is_safe, "{fixture}: {rule}: {fix:#}");
        let Some(reason) = reason else { continue };
        let is_clause = (10..200).contains(&reason.len()) && !reason.ends_with('.');
        assert!(is_clause, "{fixture}: {rule}: {reason}");
        for vague in ["changes behaviour", "unsafe", "by hand"] {
            assert!(!reason.contains(vague), "{fixture}: {rule}: {reason}");
        }
    }
}

/// The section "Fix safety" names every applicability that the fixes of the rule have on the fixtures, and no other.
#[test]
fn the_page_of_a_rule_agrees_with_its_fixes() {
    let mut seen: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (rule, _, fix) in fixes() {
        let degree = text(&fix, "applicability").unwrap();
        let (_, word) = DEGREES.into_iter().find(|(id, _)| *id == degree).unwrap();
        seen.entry(rule).or_default().insert(word);
    }
    let mut wrong = Vec::new();
    for rule in meshprobe::rules::all() {
        let section = fix_safety(rule);
        let seen = seen.remove(rule.id.as_str()).unwrap_or_default();
        if rule.fix != FixAvailability::None && named(&section) != seen {
            let named = named(&section);
            wrong.push(format!(
                "{}: the page names {named:?}, the fixes are {seen:?}",
                rule.id
            ));
        }
        if !describes(&section, rule.fix) {
            wrong.push(format!("{}: fix {:?}, but: {section}", rule.id, rule.fix));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the section "Fix safety" in one line.
fn fix_safety(rule: &Rule) -> String {
    let docs = rule.docs();
    let section = docs.split("## Fix safety\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    section.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn named(section: &str) -> BTreeSet<&'static str> {
    let section = section.to_lowercase();
    let words: BTreeSet<&str> = section.split(|c: char| !c.is_alphabetic()).collect();
    DEGREES
        .into_iter()
        .map(|(_, word)| word)
        .filter(|word| words.contains(word))
        .collect()
}

/// Returns whether a section describes how often a fix is offered.
fn describes(section: &str, fix: FixAvailability) -> bool {
    let is_limited = [
        "No fix is offered",
        "The fix is offered if ",
        "The fix is offered for ",
    ]
    .iter()
    .any(|limit| section.contains(limit));
    match fix {
        FixAvailability::None => section.starts_with("No automatic fix"),
        FixAvailability::Sometimes => is_limited,
        FixAvailability::Always => !is_limited && !section.starts_with("No automatic fix"),
    }
}
