//! A fault is one change: that of its probes, not of the finding of `check` as well.

use super::{changes, trees};
use crate::support::manifest::{INJECTED, PROBED, join};

fn compare(before: &str, after: &str) -> Vec<String> {
    let project = trees(&[("all.yaml", before)], &[("all.yaml", after)]);
    let arguments = [
        "diff",
        "--output-format",
        "json",
        "--fail-on",
        "never",
        "before",
        "after",
    ];
    changes(&project.run(&arguments).exits(0))
}

fn group(probe: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {{name: web, namespace: shop}}\nspec:\n  template: {{serviceAccount: web}}\n  probe: {probe}\n"
    )
}

#[test]
fn faults_of_the_probe_of_a_virtual_machine() {
    let good = group("{failureThreshold: 3, httpGet: {port: 8080}}");
    for (probe, outcome) in [
        (
            "{failureThreshold: 3, httpGet: {host: db.example.com, port: 8080}}",
            "target-changed",
        ),
        (
            "{failureThreshold: 3, httpGet: {port: 15021}}",
            "target-changed",
        ),
        (
            "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS}}",
            "fails",
        ),
        ("{failureThreshold: -3, httpGet: {port: 8080}}", "refused"),
    ] {
        let bad = group(probe);
        let expected = format!("regression web probe: ok -> {outcome}");
        assert_eq!(compare(&good, &bad), [expected], "{probe}");
        let expected = format!("improvement web probe: {outcome} -> ok");
        assert_eq!(compare(&bad, &good), [expected], "{probe}");
    }
}

#[test]
fn a_quoted_port() {
    let good = join(&[INJECTED, PROBED]);
    let bad = good.replace("port: 8080}", "port: '8080'}");
    assert_ne!(good, bad);
    let found = compare(&good, &bad);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_pod_that_is_refused() {
    let two = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, annotations: {a: b}}\nspec:\n  containers:\n  - name: web\n    image: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n    readinessProbe: {httpGet: {path: /, port: 8080}}\n";
    let good = join(&[INJECTED, two]);
    let bad = good.replace(
        "a: b",
        "traffic.sidecar.istio.io/excludeInboundPorts: 'http'",
    );
    let expected = [
        "regression web livenessProbe: ok -> refused",
        "regression web readinessProbe: ok -> refused",
    ];
    assert_eq!(compare(&good, &bad), expected);
    let without_probes: Vec<&str> = bad
        .lines()
        .filter(|line| !line.contains("Probe:"))
        .collect();
    let good: Vec<&str> = good
        .lines()
        .filter(|line| !line.contains("Probe:"))
        .collect();
    let found = compare(&good.join("\n"), &without_probes.join("\n"));
    assert_eq!(found, ["regression invalid-traffic-annotation"]);
}

/// The report names the annotation, and the formats of `check` contain the finding about it once.
#[test]
fn a_refused_pod_names_its_annotation() {
    let two = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    a: b\nspec:\n  containers:\n  - name: web\n    image: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n    readinessProbe: {httpGet: {path: /, port: 8080}}\n";
    let good = join(&[INJECTED, two]);
    let bad = good.replace(
        "a: b",
        "traffic.sidecar.istio.io/excludeInboundPorts: 'http'",
    );
    let project = trees(&[("all.yaml", &good)], &[("all.yaml", &bad)]);
    let run = project.run(&["diff", "before", "after"]).exits(1);
    let annotation = "annotation `traffic.sidecar.istio.io/excludeInboundPorts` is invalid";
    assert!(run.stdout.contains(annotation), "{}", run.stdout);
    let run = project
        .run(&["diff", "--output-format", "sarif", "before", "after"])
        .exits(1);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report
        .pointer("/runs/0/results")
        .unwrap()
        .as_array()
        .unwrap();
    let rules: Vec<&str> = results
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["invalid-traffic-annotation"]);
}

#[test]
fn a_second_reason_for_a_refusal_is_a_change_of_its_own() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    traffic.sidecar.istio.io/excludeInboundPorts: 'http'\n    a: b\nspec:\n  containers:\n  - name: web\n    image: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n";
    let before = join(&[INJECTED, pod]);
    let after = before.replace(
        "a: b",
        "traffic.sidecar.istio.io/includeInboundPorts: 'http'",
    );
    assert_ne!(before, after);
    assert_eq!(
        compare(&before, &after),
        ["regression invalid-traffic-annotation"]
    );
}
