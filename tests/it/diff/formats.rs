//! The formats of the report.

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

fn project() -> Project {
    let api = NOT_REWRITTEN.replace("name: web", "name: api");
    let before = [
        ("before/ns.yaml", INJECTED),
        ("before/web.yaml", NOT_REWRITTEN),
        ("before/api.yaml", &*api),
    ];
    let after = [
        ("after/ns.yaml", INJECTED),
        ("after/web.yaml", NOT_REWRITTEN),
        ("after/api.yaml", &*api),
        ("after/mtls.yaml", STRICT),
    ];
    Project::with(&[&before[..], &after[..]].concat())
}

fn output(format: &str) -> String {
    let arguments = ["diff", "--output-format", format, "before", "after"];
    project().run(&arguments).exits(1).stdout
}

#[test]
fn changes_of_one_cause_are_one_group() {
    insta::assert_snapshot!(output("full"));
}

#[test]
fn one_line_per_change() {
    insta::assert_snapshot!(output("concise"));
}

#[test]
fn markdown_for_a_comment() {
    insta::assert_snapshot!(output("markdown"));
}

#[test]
fn annotations_are_at_the_cause_and_at_the_probes() {
    insta::assert_snapshot!(output("github"));
}

#[test]
fn sarif_contains_only_new_results() {
    let report: serde_json::Value = serde_json::from_str(&output("sarif")).unwrap();
    let results = report
        .pointer("/runs/0/results")
        .unwrap()
        .as_array()
        .unwrap();
    let state = |result: &serde_json::Value| result.get("baselineState").cloned();
    assert_eq!(results.len(), 2);
    assert!(
        results
            .iter()
            .all(|result| state(result) == Some("new".into()))
    );
}

#[test]
fn reports_are_written_to_files() {
    let project = project();
    let options = [
        "--report",
        "markdown=comment.md",
        "--report",
        "gitlab=quality.json",
    ];
    project
        .run(&[&["diff", "before", "after"], &options[..]].concat())
        .exits(1);
    assert!(
        project
            .read("comment.md")
            .starts_with("<!-- meshprobe diff -->")
    );
    assert!(
        project
            .read("quality.json")
            .contains("strict-probe-not-rewritten")
    );
}

#[test]
fn nothing_changes() {
    let run = project().run(&["diff", "before", "before"]).exits(0);
    insta::assert_snapshot!(run.stdout);
}
