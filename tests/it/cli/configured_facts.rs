//! Predictions that facts of a configuration of the tree decide are counted in every summary.

use serde_json::{Value, json};

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

const SENTENCE: &str = "Facts in the configuration `.meshprobe.yaml`: 1 prediction would have another outcome without them.";

fn project(spec: &str) -> Project {
    let config = format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: m}}\nspec: {{{spec}}}\n"
    );
    Project::with(&[
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
        ("web.yaml", NOT_REWRITTEN),
        (".meshprobe.yaml", &config),
    ])
}

fn counted(project: &Project, options: &[&str], code: i32) -> Value {
    let arguments = [&["check", "--output-format", "json"], options].concat();
    let report = project.run(&arguments).exits(code).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    report["summary"]["configured"].clone()
}

#[test]
fn facts_that_silence_a_finding_are_counted_in_every_summary() {
    for spec in [
        "scopes: [{paths: ['**'], override: {rewrite: true}}]",
        "scopes: [{paths: [web.yaml], override: {mtls: DISABLE}}]",
        "scopes: [{paths: [web.yaml], override: {injection: none}}]",
        "mesh: {kind: none}",
    ] {
        let project = project(spec);
        let expected = json!({"file": ".meshprobe.yaml", "predictions": 1});
        assert_eq!(counted(&project, &[], 0), expected, "{spec}");
        for format in [
            "full", "concise", "summary", "github", "junit", "html", "gitlab",
        ] {
            let run = project.run(&["check", "--output-format", format]).exits(0);
            let text = [run.stdout, run.stderr].concat().replace("\\", "");
            let text = text.replace("<code>", "`").replace("</code>", "`");
            assert!(text.contains(SENTENCE), "{spec} {format}: {text}");
        }
        let run = project.run(&["check", "--output-format", "sarif"]).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["runs"][0]["properties"]["configured"], expected);
        // Without the configuration of the tree, and with one that the user names.
        assert_eq!(counted(&project, &["--isolated"], 1), Value::Null);
        let named = ["--config", ".meshprobe.yaml"];
        assert_eq!(counted(&project, &named, 0), Value::Null);
    }
}

#[test]
fn facts_that_decide_nothing_are_not_mentioned() {
    for (spec, code) in [
        ("mesh: {version: '1.28'}", 1),
        (
            "scopes: [{paths: [other.yaml], override: {rewrite: true}}]",
            1,
        ),
    ] {
        let project = project(spec);
        let expected = json!({"file": ".meshprobe.yaml", "predictions": 0});
        assert_eq!(counted(&project, &[], code), expected, "{spec}");
        let run = project.run(&["check"]).exits(code);
        assert!(!run.stdout.contains("Facts in"), "{}", run.stdout);
    }
    let project = project("failOn: error");
    assert_eq!(counted(&project, &[], 1), Value::Null);
}
