//! Notes about probes that work with the facts of the tree, and fail if an unsettled fact has another value.
//! A note requires evidence in the tree for the other value.

use crate::support::manifest::{INJECTED, Manifest, OPT_OUT, Pod, join};
use crate::support::project::Project;

fn policy(name: &str, mode: &str) -> String {
    let policy = Manifest::peer_authentication("shop", mode).named(name);
    policy.to_string()
}

fn pod(annotations: &str) -> String {
    let pod = Pod::new("web").within("shop").annotations(annotations);
    pod.field("image: registry.example/web:1")
        .probe("readinessProbe", "httpGet: {path: /healthz, port: 8080}")
        .to_string()
}

fn operator(name: &str, rewrite: bool) -> String {
    let webhook = format!("sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {rewrite}}}");
    Manifest::operator(name, &format!("values: {{{webhook}}}")).to_string()
}

/// Runs `check` on one file; returns severity, rule, message and assumptions of each finding, one per line.
fn report_lines(parts: &[&str], options: &[&str]) -> String {
    let project = Project::with(&[("web.yaml", &join(parts))]);
    let mut arguments = vec!["check", "--output-format", "json"];
    arguments.extend(options);
    let run = project.run(&arguments);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report.pointer("/findings").unwrap().as_array().unwrap();
    let mut lines = Vec::new();
    for finding in findings {
        let text = |name: &str| finding.get(name).unwrap().as_str().unwrap().to_owned();
        lines.push(format!(
            "{}[{}] {}",
            text("severity"),
            text("rule"),
            text("message")
        ));
        let assumptions = finding.get("assumptions").unwrap().as_array().unwrap();
        let texts = assumptions
            .iter()
            .filter_map(|assumption| assumption.as_str());
        lines.extend(texts.map(|assumption| format!("  assumed: {assumption}")));
    }
    lines.join("\n")
}

#[test]
fn a_settled_fact_has_no_alternative() {
    let tree = [INJECTED, &pod(OPT_OUT)];
    assert_eq!(report_lines(&tree, &["--override", "mtls=PERMISSIVE"]), "");
    assert_eq!(report_lines(&tree, &["--assume", "mtls=PERMISSIVE"]), "");
    let permissive = policy("default", "PERMISSIVE");
    assert_eq!(
        report_lines(&[INJECTED, &permissive, &pod(OPT_OUT)], &[]),
        ""
    );
}

#[test]
fn a_tree_without_a_mesh_has_no_alternatives() {
    assert_eq!(report_lines(&[&pod("")], &[]), "");
    let plain = Manifest::namespace("shop").to_string();
    assert_eq!(report_lines(&[&plain, &pod("")], &[]), "");
    assert_eq!(report_lines(&[INJECTED, &pod("")], &[]), "");
    // The mesh may require mutual TLS, but the tree contains no evidence for it.
    assert_eq!(report_lines(&[INJECTED, &pod(OPT_OUT)], &[]), "");
}

#[test]
fn a_conflicting_policy_may_be_older() {
    let (soft, hard) = (policy("a", "PERMISSIVE"), policy("b", "STRICT"));
    insta::assert_snapshot!(report_lines(&[INJECTED, &soft, &hard, &pod(OPT_OUT)], &[]));
}

#[test]
fn a_mode_may_be_a_placeholder() {
    let filled = policy("default", "'${MTLS_MODE}'");
    insta::assert_snapshot!(report_lines(&[INJECTED, &filled, &pod(OPT_OUT)], &[]));
}

#[test]
fn the_rewrite_setting_may_be_a_placeholder() {
    let open = pod("sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'");
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(report_lines(&[INJECTED, &strict, &open], &[]));
}

#[test]
fn two_assumed_facts_may_differ() {
    let open = pod("sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'");
    let (soft, hard) = (policy("a", "PERMISSIVE"), policy("b", "STRICT"));
    insta::assert_snapshot!(report_lines(&[INJECTED, &soft, &hard, &open], &[]));
}

#[test]
fn the_label_of_the_namespace_may_be_a_placeholder() {
    let open = INJECTED.replace("enabled", "'${INJECTION}'");
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(report_lines(&[&open, &strict, &pod(OPT_OUT)], &[]));
}

#[test]
fn another_control_plane_may_serve() {
    let (on, off) = (operator("a", true), operator("b", false));
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(report_lines(&[&on, &off, INJECTED, &strict, &pod("")], &[]));
}

#[test]
fn an_installation_may_contain_unread_values() {
    let release = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: istiod, namespace: istio-system}
spec:
  chart: {spec: {chart: istiod, version: 1.28.0}}
  valuesFrom: [{kind: Secret, name: mesh}]
";
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(report_lines(&[release, INJECTED, &strict, &pod("")], &[]));
}

#[test]
fn explain_shows_the_alternative() {
    let project = Project::with(&[("web.yaml", &join(&[INJECTED, &pod(OPT_OUT)]))]);
    project
        .run(&["predict", "--explain"])
        .exits(0)
        .stdout_contains("otherwise")
        .stdout_contains("fails if mutual TLS is STRICT");
}
