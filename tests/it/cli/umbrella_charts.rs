//! Charts that contain other charts are judged with them, and with the values of the outermost one.

use serde_json::Value;

use super::helm_auto::report;
use crate::support::manifest::{INJECTED, STRICT};
use crate::support::project::Project;

const UMBRELLA: &str =
    "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies: [{name: web, version: 0.1.0}]\n";

const TEMPLATE: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: {{ .Values.rewrite | quote }}}
spec:
  containers:
    - name: web
      image: web
      ports: [{containerPort: 8080}]
      readinessProbe: {httpGet: {path: /, port: 8080}}
";

/// An umbrella chart without templates; only its values disable the rewrite.
fn umbrella() -> Project {
    Project::with(&[
        ("platform/Chart.yaml", UMBRELLA),
        ("platform/values.yaml", "web: {rewrite: false}\n"),
        (
            "platform/charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        ),
        ("platform/charts/web/values.yaml", "rewrite: true\n"),
        ("platform/charts/web/templates/web.yaml", TEMPLATE),
        ("mesh/namespace.yaml", INJECTED),
        ("mesh/strict.yaml", STRICT),
    ])
}

fn check(project: &Project, paths: &[&str]) -> Value {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(paths);
    serde_json::from_str(&project.run(&all).stdout).unwrap()
}

/// Returns message and help of all that is not judged.
fn not_judged(report: &Value) -> Vec<String> {
    let found = report["not_judged"].as_array().unwrap().iter();
    let text = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
    found
        .map(|found| format!("{}: {}", text(found, "message"), text(found, "help")))
        .collect()
}

#[test]
fn an_umbrella_chart_is_counted_once_with_its_own_command() {
    let project = umbrella();
    let command = "the chart in `platform` is not rendered: `meshprobe check --helm auto platform`";
    for paths in [&[][..], &["platform"], &["platform/charts"]] {
        assert_eq!(not_judged(&check(&project, paths)), [command], "{paths:?}");
    }
    let help = check(&project, &[])["findings"][0]["help"].to_string();
    assert!(
        help.contains("`meshprobe check --helm auto platform`"),
        "{help}"
    );
    // Only remote dependencies.
    let remote = Project::with(&[("platform/Chart.yaml", UMBRELLA)]);
    assert_eq!(not_judged(&check(&remote, &[])), [command]);
    // Libraries are not rendered, and charts that only install the mesh are read for facts.
    for chart in [
        "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n",
        "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies: [{name: istiod, version: 1.24.0, repository: https://istio-release.storage.googleapis.com/charts}]\n",
    ] {
        let project = Project::with(&[("common/Chart.yaml", chart)]);
        assert_eq!(not_judged(&check(&project, &[])), [""; 0], "{chart}");
    }
}

#[test]
fn an_umbrella_chart_is_rendered_with_its_values() {
    let project = umbrella();
    let Some((found, code)) = report(&project, &["--helm", "auto"]) else {
        return;
    };
    let rules: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert_eq!(
        (rules.as_slice(), code),
        (&["strict-probe-not-rewritten"][..], 1)
    );
    assert_eq!(not_judged(&found), [""; 0]);
    assert_eq!(found["summary"]["workloads"], 1);
}

#[test]
fn an_umbrella_chart_without_its_dependencies_is_an_error() {
    let project = Project::with(&[("platform/Chart.yaml", UMBRELLA)]);
    let Some((found, code)) = report(&project, &["--helm", "auto"]) else {
        return;
    };
    assert_eq!(found["findings"][0]["rule"], "not-rendered");
    assert_eq!(found["findings"][0]["path"], "platform/Chart.yaml");
    assert_eq!(code, 2);
    assert_eq!(found["summary"]["not_judged"], 1);
}
