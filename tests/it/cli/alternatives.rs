//! What is fine as far as the tree says, and spoiled if a fact that nobody settled is another one:
//! a note, and only where something in the tree speaks for that other fact.

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

/// What `check` says of one file: rule, severity, message and assumptions, line by line.
fn said(parts: &[&str], options: &[&str]) -> String {
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
        let texts = assumptions.iter().filter_map(|one| one.as_str());
        lines.extend(texts.map(|one| format!("  assumed: {one}")));
    }
    lines.join("\n")
}

#[test]
fn what_is_settled_has_no_other_world() {
    let tree = [INJECTED, &pod(OPT_OUT)];
    assert_eq!(said(&tree, &["--override", "mtls=PERMISSIVE"]), "");
    assert_eq!(said(&tree, &["--assume", "mtls=PERMISSIVE"]), "");
    let permissive = policy("default", "PERMISSIVE");
    assert_eq!(said(&[INJECTED, &permissive, &pod(OPT_OUT)], &[]), "");
}

#[test]
fn a_tree_without_a_mesh_has_one_world() {
    assert_eq!(said(&[&pod("")], &[]), "");
    let plain = Manifest::namespace("shop").to_string();
    assert_eq!(said(&[&plain, &pod("")], &[]), "");
    assert_eq!(said(&[INJECTED, &pod("")], &[]), "");
    // That the mesh demands mutual TLS is possible, but nothing here says so.
    assert_eq!(said(&[INJECTED, &pod(OPT_OUT)], &[]), "");
}

#[test]
fn a_rival_policy_may_be_the_older_one() {
    let (soft, hard) = (policy("a", "PERMISSIVE"), policy("b", "STRICT"));
    insta::assert_snapshot!(said(&[INJECTED, &soft, &hard, &pod(OPT_OUT)], &[]));
}

#[test]
fn a_mode_may_be_filled_in_by_another_tool() {
    let filled = policy("default", "'${MTLS_MODE}'");
    insta::assert_snapshot!(said(&[INJECTED, &filled, &pod(OPT_OUT)], &[]));
}

#[test]
fn the_switch_of_the_rewrite_may_be_filled_in() {
    let open = pod("sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'");
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(said(&[INJECTED, &strict, &open], &[]));
}

#[test]
fn two_facts_may_be_other_than_they_are_taken_for() {
    let open = pod("sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'");
    let (soft, hard) = (policy("a", "PERMISSIVE"), policy("b", "STRICT"));
    insta::assert_snapshot!(said(&[INJECTED, &soft, &hard, &open], &[]));
}

#[test]
fn the_label_of_the_namespace_may_be_filled_in() {
    let open = INJECTED.replace("enabled", "'${INJECTION}'");
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(said(&[&open, &strict, &pod(OPT_OUT)], &[]));
}

#[test]
fn another_control_plane_may_serve() {
    let (on, off) = (operator("a", true), operator("b", false));
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(said(&[&on, &off, INJECTED, &strict, &pod("")], &[]));
}

#[test]
fn an_installation_may_hold_more_than_could_be_read() {
    let release = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: istiod, namespace: istio-system}
spec:
  chart: {spec: {chart: istiod, version: 1.28.0}}
  valuesFrom: [{kind: Secret, name: mesh}]
";
    let strict = policy("default", "STRICT");
    insta::assert_snapshot!(said(&[release, INJECTED, &strict, &pod("")], &[]));
}

#[test]
fn explain_shows_the_other_world() {
    let project = Project::with(&[("web.yaml", &join(&[INJECTED, &pod(OPT_OUT)]))]);
    project
        .run(&["predict", "--explain"])
        .exits(0)
        .says("otherwise")
        .says("fails if mutual TLS is STRICT");
}
