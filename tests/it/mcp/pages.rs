//! Long answers are divided into pages.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::client::{Client, STRICT, WEB};
use crate::support::project::Project;

/// The most bytes of an answer: about 4,000 tokens.
const MOST: usize = 16_000;

/// Creates a tree with `count` Deployments, each with a finding.
fn many(count: usize) -> Project {
    let project = Project::with(&[("mtls.yaml", STRICT)]);
    let mut text = String::new();
    for number in 0..count {
        let deployment = WEB.split_once("---\n").unwrap().1;
        let deployment = deployment.replace(
            "name: web\n  namespace",
            &format!("name: web-{number}\n  namespace"),
        );
        write!(text, "---\n{deployment}").unwrap();
    }
    project.write("namespace.yaml", WEB.split_once("---\n").unwrap().0);
    project.write("web.yaml", text);
    project
}

fn items(client: &mut Client, tool: &str, list: &str, arguments: &Value) -> (Vec<Value>, usize) {
    let mut arguments = arguments.clone();
    let mut all = Vec::new();
    let mut pages = 0;
    loop {
        let result = client.call(tool, arguments.clone());
        let answer = &result["structuredContent"];
        let page = answer[list]
            .as_array()
            .unwrap_or_else(|| panic!("{result}"));
        assert!(!page.is_empty() || pages == 0);
        all.extend(page.iter().cloned());
        pages += 1;
        for (name, content) in [("structured", answer), ("text", &result["content"])] {
            let size = content.to_string().len();
            assert!(size < MOST, "{name}: {size} bytes");
        }
        match answer["next_cursor"].as_str() {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => return (all, pages),
        }
    }
}

#[test]
fn pages_contain_every_item_once() {
    let project = many(60);
    let mut client = Client::granting(&project.path("."));
    let cases = [
        ("check", "findings", json!({})),
        ("check", "findings", json!({"limit": 7})),
        ("predict", "probes", json!({})),
        ("what_if", "changes", json!({"to": ["mtls=PERMISSIVE"]})),
    ];
    for (tool, list, arguments) in cases {
        let (all, pages) = items(&mut client, tool, list, &arguments);
        assert_eq!(all.len(), 60, "{tool}");
        assert!(pages > 2, "{tool}: {pages}");
        let mut lines: Vec<String> = all.iter().map(|item| item["at"].to_string()).collect();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 60, "{tool}");
    }
}

#[test]
fn a_diff_is_divided_between_hunks() {
    let project = many(60);
    let mut client = Client::granting(&project.path("."));
    let first = client.ask("propose_fix", json!({}));
    let diff = first["diff"].as_str().unwrap();
    assert!(diff.len() < MOST);
    assert!(diff.ends_with('\n'));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.ask("propose_fix", json!({"cursor": cursor}));
    assert!(second["diff"].as_str().unwrap().starts_with("@@ "));
}

#[test]
fn a_limit_is_kept() {
    let project = many(5);
    let mut client = Client::granting(&project.path("."));
    let answer = client.ask("check", json!({"limit": 2}));
    assert_eq!(answer["findings"].as_array().unwrap().len(), 2);
    assert_eq!(answer["summary"]["errors"], 5);
    let refusal = client.refusal("check", json!({"limit": 0}));
    assert!(refusal.contains("`limit`"), "{refusal}");
}

#[test]
fn a_cursor_is_stale_after_a_change_of_the_list() {
    let project = many(5);
    let mut client = Client::granting(&project.path("."));
    let arguments = json!({"limit": 2});
    let cursor = client.ask("check", arguments)["next_cursor"].clone();
    project.write("mtls.yaml", STRICT.replace("STRICT", "PERMISSIVE"));
    let refusal = client.refusal("check", json!({"limit": 2, "cursor": cursor}));
    assert!(refusal.contains("the cursor is stale"), "{refusal}");
    assert!(
        refusal.contains("help: call again without `cursor`"),
        "{refusal}"
    );
}

#[test]
fn a_cursor_of_other_parameters_is_stale() {
    let project = many(5);
    let mut client = Client::granting(&project.path("."));
    let cursor = client.ask("check", json!({"limit": 2}))["next_cursor"].clone();
    let refusal = client.refusal("predict", json!({"limit": 2, "cursor": cursor}));
    assert!(refusal.contains("stale"), "{refusal}");
}

#[test]
fn an_invented_cursor_is_rejected() {
    let project = many(5);
    let mut client = Client::granting(&project.path("."));
    let cursor = client.ask("check", json!({"limit": 2}))["next_cursor"].clone();
    let cursor = cursor.as_str().unwrap();
    let hash = cursor.split_once('.').unwrap().1;
    for invented in [
        "",
        "2",
        "x.y",
        "../../etc",
        &format!("5.{hash}"),
        &format!("ffffffffffffffffff.{hash}"),
        &format!("+2.{hash}"),
    ] {
        let refusal = client.refusal("check", json!({"limit": 2, "cursor": invented}));
        assert!(refusal.contains("`cursor`"), "{invented}: {refusal}");
    }
}
