//! `predict` names what it does not judge, as `check` does.

use serde_json::Value;

use super::fixes::WEB;
use crate::support::project::Project;

const LINE: &str = "Not judged: charts/web/Chart.yaml:1: the chart in `charts/web` is not rendered: \
                    `meshprobe check --helm auto charts/web`";

fn with_chart() -> Project {
    Project::with(&[
        ("web.yaml", WEB),
        (
            "charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        ),
        (
            "charts/web/templates/web.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\n",
        ),
    ])
}

#[test]
fn standard_error_names_it_next_to_predictions() {
    let project = with_chart();
    for arguments in [&["predict"][..], &["predict", "--explain"]] {
        let run = project.run(arguments).exits(0);
        assert!(run.stdout.contains("Deployment/web"), "{}", run.stdout);
        assert!(!run.stdout.contains("Not judged"), "{}", run.stdout);
        run.stderr_contains(LINE);
    }
    let quiet = project.run(&["predict", "--quiet"]).exits(0);
    assert!(!quiet.stderr.contains("Not judged"), "{}", quiet.stderr);
    // A workload without a verdict is in the table.
    let judged = project.run(&["predict", "web.yaml"]).exits(0);
    assert!(judged.stdout.contains("unknown"), "{}", judged.stdout);
    assert!(!judged.stderr.contains("Not judged"), "{}", judged.stderr);
}

#[test]
fn json_lists_what_check_lists() {
    let project = with_chart();
    let listed = |command: &str| {
        let run = project.run(&[command, "--output-format", "json"]);
        assert!(!run.stderr.contains("Not judged"), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        report["not_judged"].clone()
    };
    let reasons: Vec<Value> = listed("predict").as_array().unwrap().clone();
    let reasons: Vec<&Value> = reasons.iter().map(|found| &found["reason"]).collect();
    assert_eq!(reasons, ["chart", "mesh-unknown"]);
    assert_eq!(listed("predict"), listed("check"));
}

#[test]
fn a_run_without_workloads_names_it_too() {
    let project = with_chart();
    let run = project.run(&["predict", "charts"]).exits(0);
    run.stderr_contains("Nothing was predicted: the files do not contain workloads.")
        .stderr_contains(LINE);
}
