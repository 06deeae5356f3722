//! The texts and rules of SARIF results: links to related locations, and the environments of a finding.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{fixture, meshprobe};

/// Reads the links of a plain text as SARIF 2.1.0, 3.11.6 defines them; returns their texts and destinations.
fn links(message: &str) -> Vec<(String, String)> {
    let mut links = Vec::new();
    let mut rest = message;
    while let Some((_, after)) = rest.split_once('[') {
        rest = after;
        if let Some(link) = link(after) {
            links.push(link);
        }
    }
    links
}

fn link(text: &str) -> Option<(String, String)> {
    let mut name = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '\\' => name.push(chars.next().filter(|c| r"[]\".contains(*c))?),
            '[' => return None,
            ']' => break,
            c => name.push(c),
        }
    }
    let (destination, _) = chars.as_str().strip_prefix('(')?.split_once(')')?;
    Some((name, destination.to_owned()))
}

fn report(tree: &str) -> Value {
    let arguments = ["check", "--isolated", "--output-format", "sarif", "."];
    let run = meshprobe(&fixture(tree), &arguments, "");
    serde_json::from_str(&run.stdout).unwrap()
}

fn results(tree: &str) -> Vec<Value> {
    let report = report(tree);
    report["runs"][0]["results"].as_array().unwrap().clone()
}

/// Code scanning shows a related location only if the message links to it.
#[test]
fn messages_link_to_all_related_locations() {
    let mut compared = 0;
    for tree in ["platform", "demo", "rules"] {
        for result in results(tree) {
            let message = result["message"]["text"].as_str().unwrap();
            let related = result["relatedLocations"].as_array().unwrap();
            let expected: Vec<String> = related
                .iter()
                .map(|location| location["id"].to_string())
                .collect();
            let found = links(message).into_iter();
            // Lines with the same message are linked next to each other.
            let mut found: Vec<String> = found.map(|(_, destination)| destination).collect();
            found.sort_by_key(|destination| destination.parse::<usize>().unwrap());
            assert_eq!(found, expected, "{message}");
            compared += expected.len();
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_message_names_the_deciding_lines_and_the_environments() {
    let results = results("platform");
    let strict = results
        .iter()
        .find(|result| result["ruleId"] == "strict-probe-not-rewritten")
        .unwrap();
    let text = strict["message"]["text"].as_str().unwrap();
    let environments = serde_json::to_string_pretty(&strict["properties"]["environments"]);
    insta::assert_snapshot!(format!("{text}\n\n{}", environments.unwrap()));
}

#[test]
fn sarif_lists_the_rules_of_its_results_with_their_texts() {
    let report = report("platform");
    let run = &report["runs"][0];
    let text = |rule: &Value, pointer: &str| {
        let text = rule.pointer(pointer).and_then(Value::as_str);
        let text = text.unwrap_or_else(|| panic!("{rule} has no {pointer}"));
        assert!(!text.trim().is_empty(), "{rule}: {pointer}");
        text.chars().count()
    };
    let mut ids = Vec::new();
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        assert!(text(rule, "/shortDescription/text") <= 1024);
        assert!(text(rule, "/fullDescription/text") <= 1024);
        for pointer in ["/help/text", "/help/markdown", "/helpUri"] {
            text(rule, pointer);
        }
        ids.push(rule["id"].as_str().unwrap());
    }
    let results = run["results"].as_array().unwrap();
    let used: BTreeSet<&str> = results
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, Vec::from_iter(used));
}
