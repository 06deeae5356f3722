//! The layout of `predict`: equal environments are merged, and a narrow output is not a table.

use std::fmt::Write as _;

use crate::support::predictions::{handlers, workloads};
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, fixture, meshprobe, run};

/// Runs `predict` on a tree with three clusters, with lines of this width.
fn predict(width: &str, options: &[&str]) -> Run {
    let mut program = command(PROGRAM.as_ref(), &fixture("platform"));
    let arguments = [&["predict", "--no-context"], options, &["."]].concat();
    run(program.env("COLUMNS", width).args(arguments), b"")
}

#[track_caller]
fn fits(run: &Run, width: usize) {
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= width, "{line}");
    }
}

#[test]
fn narrow_lines_are_blocks() {
    let run = predict("80", &[]).exits(0);
    fits(&run, 80);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn wide_lines_are_a_table() {
    let run = predict("240", &[]).exits(0);
    fits(&run, 240);
    insta::assert_snapshot!(run.stdout);
}

/// Programs such as `grep` and `awk` read the lines of a pipe: each contains its workload and is complete.
#[test]
fn a_pipe_has_one_complete_line_per_row() {
    let arguments = ["predict", "."];
    let run = meshprobe(&fixture("platform"), &arguments, "").exits(0);
    let lines: Vec<&str> = run.stdout.lines().skip(1).collect();
    assert_eq!(lines.len(), 8, "{}", run.stdout);
    for line in lines {
        assert!(line.contains("/Deployment/") || line.contains("/WorkloadGroup/"));
    }
}

#[test]
fn an_explanation_names_the_environments_of_different_facts() {
    let run = predict("80", &["--explain"]).exits(0);
    fits(&run, 80);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn json_has_every_environment() {
    let arguments = ["predict", "--output-format", "json", "."];
    let run = meshprobe(&fixture("platform"), &arguments, "").exits(0);
    assert_eq!((workloads(&run).len(), handlers(&run).len()), (13, 13));
}

/// Returns a base with one probe, deployed by many clusters. The probe of some of them is not rewritten.
fn fleet(clusters: usize) -> Project {
    let project = Project::new();
    project.write(
        "base/web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, annotations: {rewrite: x}}\nspec:\n  \
         containers: [{name: web, image: x, readinessProbe: {httpGet: {path: /, port: 8080}}}]\n",
    );
    project.write(
        "base/mesh.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n",
    );
    project.write(
        "base/kustomization.yaml",
        "resources: [web.yaml, mesh.yaml]\n",
    );
    for number in 0..clusters {
        let mut kustomization = "resources: [../../base]\n".to_owned();
        if number % 11 == 0 {
            let annotations = "{sidecar.istio.io/rewriteAppHTTPProbers: 'false'}";
            // Writing to a string cannot fail.
            let _ = writeln!(kustomization, "commonAnnotations: {annotations}");
        }
        let path = format!("clusters/c{number:02}/kustomization.yaml");
        project.write(&path, kustomization);
    }
    project
}

#[test]
fn many_clusters_have_one_line_per_outcome() {
    let project = fleet(33);
    let run = project.run(&["predict", "."]).exits(0);
    assert_eq!(run.stdout.lines().count(), 3, "{}", run.stdout);
    insta::assert_snapshot!(run.stdout);
    let json = project.run(&["predict", "--output-format", "json", "."]);
    assert_eq!(handlers(&json).len(), 33);
    let explained = project.run(&["predict", "--explain", "."]).exits(0);
    assert_eq!(explained.stdout.matches("--> ").count(), 1);
}

/// Without overlays, there is nothing to merge: every file stays a row.
#[test]
fn equal_objects_of_different_files_are_not_merged() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  \
               containers: [{name: web, readinessProbe: {tcpSocket: {port: 80}}}]\n";
    let project = Project::with(&[("a/web.yaml", pod), ("b/web.yaml", pod)]);
    let run = project.run(&["predict", "."]).exits(0);
    assert_eq!(run.stdout.lines().count(), 3, "{}", run.stdout);
    let list = format!("{pod}---\n{pod}");
    let project = Project::with(&[("web.yaml", &list)]);
    let run = project.run(&["predict", "."]).exits(0);
    assert_eq!(run.stdout.lines().count(), 3, "{}", run.stdout);
}

/// Source: `pkg/kube/inject/app_probe.go` of Istio 1.31, which only replaces the path, the port and the scheme.
#[test]
fn a_rewritten_handler_keeps_its_host_and_headers() {
    let manifest = "apiVersion: v1\n\
         kind: Pod\n\
         metadata: {name: web, labels: {sidecar.istio.io/inject: \"true\"}}\n\
         spec:\n\
         \x20 containers:\n\
         \x20 - name: web\n\
         \x20   livenessProbe: {httpGet: {port: 80, host: 10.0.0.7, httpHeaders: [{name: X-Token, value: a}]}}\n\
         \x20   readinessProbe: {tcpSocket: {port: 80, host: 10.0.0.7}}\n";
    let project = Project::with(&[("pod.yaml", manifest)]);
    let run = project.run(&["predict", "--output-format=json", "pod.yaml"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let handlers = &report["workloads"][0]["handlers"];
    let http = serde_json::json!({
        "path": "/app-health/web/livez", "port": 15020, "host": "10.0.0.7",
        "httpHeaders": [{"name": "X-Token", "value": "a"}]
    });
    assert_eq!(handlers[0]["becomes"]["httpGet"], http);
    let tcp = serde_json::json!({"path": "/app-health/web/readyz", "port": 15020});
    assert_eq!(handlers[1]["becomes"]["httpGet"], tcp);
}
