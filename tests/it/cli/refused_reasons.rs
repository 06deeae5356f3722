//! `predict` names the line because of which a probe or its pod is refused, and what a later API server refuses.

use crate::support::manifest::join;
use crate::support::project::Project;
use serde_json::Value;

fn namespace(labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{istio-injection: enabled{labels}}}}}\n"
    )
}

fn pod(annotations: &str, probe: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {{{annotations}}}\nspec:\n  \
         containers:\n  - name: web\n    livenessProbe: {{httpGet: {probe}}}\n"
    )
}

fn predict(labels: &str, pod: &str, options: &[&str]) -> String {
    let project = Project::with(&[("tree.yaml", &join(&[&namespace(labels), pod]))]);
    let run = project.run(&[&["predict"], options, &["tree.yaml"]].concat());
    run.exits(0).stdout
}

const OFF: &str = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"";
const BASELINE: &str = ", pod-security.kubernetes.io/enforce: baseline";

#[test]
fn the_line_that_forbids_a_host_is_explained() {
    let pod = pod(OFF, "{port: 80, host: example.com}");
    let version = format!("{BASELINE}, pod-security.kubernetes.io/enforce-version: v1.34");
    let explained = predict(&version, &pod, &["--explain"]);
    assert!(
        explained.contains("Pod Security `baseline` is enforced here (tree.yaml:3)"),
        "{explained}"
    );
    let latest = predict(BASELINE, &pod, &["--explain"]);
    let otherwise = "otherwise   refused if the API server is Kubernetes 1.34 or later";
    assert!(latest.contains(otherwise), "{latest}");
    assert!(!explained.contains("otherwise"), "{explained}");
}

#[test]
fn the_reason_for_an_invalid_handler_is_in_the_json() {
    let json = predict("", &pod("a: b", "[1]"), &["--output-format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let because = json.pointer("/workloads/0/handlers/0/because/0").unwrap();
    assert_eq!(because.get("line"), Some(&Value::from(14)), "{because}");
    let message = because.get("message").and_then(Value::as_str).unwrap();
    assert!(message.contains("expected HTTPGetAction"), "{message}");
}

#[test]
fn a_status_port_that_is_not_a_number_refuses_the_pod() {
    let pod = pod("status.sidecar.istio.io/port: abc", "{port: 80}");
    let explained = predict("", &pod, &["--explain"]);
    let words: Vec<&str> = explained.split_whitespace().collect();
    assert!(
        words.join(" ").contains("`abc` is not a port number"),
        "{explained}"
    );
    assert!(!explained.contains("points it at port 0"), "{explained}");
}

#[test]
fn a_path_that_the_kubelet_cannot_request_is_broken_without_a_mesh() {
    for options in [&["--mesh", "none"][..], &[]] {
        let table = predict("", &pod(OFF, "{port: 80, path: \"a:b\"}"), options);
        assert!(table.contains("broken-without-mesh"), "{table}");
        let slash = predict("", &pod(OFF, "{port: 80, path: \"/a:b\"}"), options);
        assert!(!slash.contains("broken-without-mesh"), "{slash}");
    }
}
