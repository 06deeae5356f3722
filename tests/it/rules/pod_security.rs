//! Rule `pod-security-forbids-host`: what counts is the pod after the webhooks of a mesh.

use crate::support::project::Project;

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
    - name: web
      image: registry.example/web:1
      ports: [{containerPort: 8080}]
      readinessProbe: {tcpSocket: {host: 127.0.0.1, port: 8080}}
";

/// Returns the rules that report the pod in a Namespace with another label.
fn reported(label: &str, pod: &str) -> String {
    let project = Project::new();
    let namespace = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels: {{pod-security.kubernetes.io/enforce: baseline, \
         pod-security.kubernetes.io/enforce-version: v1.35, {label}}}\n---\n"
    );
    project.write("web.yaml", namespace + pod);
    project.run(&["check", "web.yaml"]).stdout
}

#[test]
fn a_host_that_the_rewrite_removes_is_not_reported() {
    let rule = "[pod-security-forbids-host]";
    assert!(reported("team: a", POD).contains(rule));
    let injected = reported("istio-injection: enabled", POD);
    assert!(
        !injected.contains(rule) && injected.contains("[tcp-probe-host-dropped]"),
        "{injected}"
    );
    let kept = POD.replace("{tcpSocket: {", "{httpGet: {path: /, ");
    assert!(reported("istio-injection: enabled", &kept).contains(rule));
}

/// The webhook removes this host, so the injected pod is admitted. A rewrite that keeps the host would change that.
#[test]
fn a_rewrite_keeps_no_host_that_pod_security_forbids() {
    let project = Project::new();
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  \
                     labels: {istio-injection: enabled, pod-security.kubernetes.io/enforce: LEVEL}\n---\n";
    let pod = format!("{POD}      livenessProbe: {{httpGet: {{path: /, port: 8080}}}}\n");
    for (level, code, id) in [
        ("restricted", 1, "probe-host"),
        ("privileged", 0, "host-kept"),
    ] {
        project.write("web.yaml", namespace.replace("LEVEL", level) + &pod);
        let run = project.run(&["rewrite", "--write", "web.yaml"]).exits(code);
        run.stderr_contains(&format!("[{id}]"));
    }
}
