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

/// What is not judged and differs has a line, so that each format can contain it; a note has none.
#[test]
fn reports_of_ci_systems_contain_what_is_not_judged_and_notes() {
    let chart = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";
    let template = "kind: Pod\nmetadata: {name: {{ .Release.Name }}}\n";
    let other = template.replace("kind", "# changed\nkind");
    let project = Project::with(&[
        ("before/web.yaml", NOT_REWRITTEN),
        ("plain/web.yaml", PLAIN),
        ("before/chart/Chart.yaml", chart),
        ("before/chart/templates/a.yaml", template),
        ("after/web.yaml", NOT_REWRITTEN),
        ("after/chart/Chart.yaml", chart),
        ("after/chart/templates/a.yaml", &*other),
    ]);
    let output = |format| {
        let arguments = ["diff", "--output-format", format, "before", "after"];
        project.run(&arguments).exits(0).stdout
    };
    let gitlab: serde_json::Value = serde_json::from_str(&output("gitlab")).unwrap();
    let issues = gitlab.as_array().unwrap();
    assert_eq!(issues.len(), 1, "{gitlab}");
    assert_eq!(issues[0]["check_name"], "not-judged");
    assert_eq!(issues[0]["severity"], "info");
    assert_eq!(issues[0]["location"]["path"], "after/chart/Chart.yaml");
    assert!(output("junit").contains("not judged (chart)"));
    let what_if = [
        "diff",
        "--to",
        "mtls=STRICT",
        "--output-format",
        "junit",
        "plain",
    ];
    let junit = project.run(&what_if).exits(0);
    assert!(
        junit
            .stderr
            .contains("note: `mtls` of `--to` has no effect"),
        "{}",
        junit.stderr
    );
    assert!(
        junit
            .stdout
            .contains("<testcase name=\"note\" classname=\"meshprobe\">"),
        "{}",
        junit.stdout
    );
    assert!(junit.stdout.contains("`mtls` of `--to` has no effect"));
}

const PLAIN: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n";

/// GitHub rejects comments of more than 65,536 characters.
#[test]
fn a_comment_has_a_limit_and_starts_with_the_regressions() {
    let project = Project::with(&[
        ("before/ns.yaml", INJECTED),
        ("after/ns.yaml", INJECTED),
        ("before/mtls.yaml", STRICT),
        ("after/mtls.yaml", STRICT),
    ]);
    for number in 0..250 {
        let pod = NOT_REWRITTEN.replace("name: web", &format!("name: web{number}"));
        let rewritten = pod.replace("'false'", "'true'");
        let (before, after) = if number < 100 {
            (&pod, &rewritten)
        } else {
            (&rewritten, &pod)
        };
        project.write(&format!("before/web{number}.yaml"), before);
        project.write(&format!("after/web{number}.yaml"), after);
    }
    let arguments = ["diff", "--output-format", "markdown", "before", "after"];
    let text = project.run(&arguments).exits(1).stdout;
    assert!(text.len() > 60_000 && text.len() < 65_000, "{}", text.len());
    let first = text.find("**regression**").unwrap();
    assert!(text.find("**improvement**").is_none_or(|at| at > first));
    assert_eq!(text.matches("**regression**").count(), 150);
    assert!(
        text.contains(" more changes do not fit; see the log of the job.\n\nUnchanged: "),
        "{text}"
    );
}
