//! Findings about objects that a kustomization changes, at the lines that the user wrote.

use crate::support::project::Project;

const CONSUL: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: demo
  annotations:
    consul.hashicorp.com/connect-inject: \"true\"
spec:
  containers:
  - name: web
    image: registry.example/web:1
    livenessProbe: {httpGet: {path: /healthz, port: 8080}}
";

fn fixture(rule: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("fixtures/rules").join(rule).join("bad.yaml");
    std::fs::read_to_string(path).unwrap()
}

/// Returns the findings of one rule, one per line.
fn findings_of(project: &Project, rule: &str) -> String {
    let options = ["check", "--select", rule, "--output-format", "concise", "."];
    project.run(&options).stdout
}

#[track_caller]
fn assert_found_in_an_overlay(rule: &str) {
    let project = Project::with(&[("manifest.yaml", &fixture(rule))]);
    let plain = findings_of(&project, rule);
    assert!(plain.contains(&format!("[{rule}]")), "{plain}");
    let line = |text: &str| text.lines().next().unwrap().to_owned();
    project.write(
        "kustomization.yaml",
        "resources: [manifest.yaml]\ncommonAnnotations: {owner: us}\n",
    );
    assert_eq!(line(&findings_of(&project, rule)), line(&plain));
}

#[test]
fn an_unneeded_port_exception_is_reported_in_an_overlay() {
    assert_found_in_an_overlay("stale-probe-exception");
}

#[test]
fn several_services_behind_the_transparent_proxy_are_reported_in_an_overlay() {
    assert_found_in_an_overlay("consul-multiport-tproxy");
}

#[test]
fn a_finding_about_a_patched_value_is_reported_at_the_patch() {
    let patch = "\
resources: [manifest.yaml]
patches:
- target: {kind: Pod}
  patch: |
    - op: add
      path: /metadata/annotations/consul.hashicorp.com~1transparent-proxy
      value: maybe
";
    let project = Project::with(&[("manifest.yaml", CONSUL), ("kustomization.yaml", patch)]);
    let text = findings_of(&project, "mesh-value-refused");
    assert!(text.contains("error[mesh-value-refused]"), "{text}");
    assert!(text.contains("kustomization.yaml:7:"), "{text}");
}
