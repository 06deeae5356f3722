//! Probes of Knative Services: their webhook sets names and ports, and queue-proxy makes the check of readiness.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::STRICT_MESH;
use crate::support::project::Project;

const NAMESPACE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

/// A Knative Service with an annotation and these containers.
fn service(annotations: &str, containers: &str) -> String {
    format!(
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\nspec:\n  template:\n    \
         metadata: {{annotations: {{{annotations}}}}}\n    spec:\n      containers:\n{containers}"
    )
}

const OFF: &str = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"";

fn project(service: &str) -> Project {
    Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("mtls.yaml", STRICT_MESH),
        ("web.yaml", service),
    ])
}

/// Returns `rule container` for each finding, and checks that nothing is left unjudged.
fn found(service: &str) -> Vec<String> {
    let run = project(service).run(&["check", "--output-format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["not_judged"], serde_json::json!([]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings(&run)
        .iter()
        .map(|finding| format!("{} {}", text(&finding["rule"]), text(&finding["container"])))
        .collect()
}

/// Returns slot, kind, port and outcome of each handler.
fn predicted(service: &str) -> Vec<String> {
    let run = project(service).run(&["predict", "--output-format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let handlers = report["workloads"][0]["handlers"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    handlers
        .iter()
        .map(|handler| {
            let kubelet = text(&handler["kubelet"]);
            let port = kubelet.split("<pod>:").nth(1).unwrap_or_default();
            let port: String = port.chars().take_while(char::is_ascii_digit).collect();
            format!(
                "{} {} {} {port}",
                text(&handler["container"]),
                text(&handler["slot"]),
                text(&handler["outcome"])
            )
        })
        .collect()
}

#[test]
fn names_ports_and_handlers_that_the_webhook_sets_are_not_missing() {
    let minimal = service(
        "",
        "        - image: a\n          readinessProbe: {httpGet: {path: /ready}}\n          livenessProbe: {tcpSocket: {}}\n",
    );
    assert_eq!(found(&minimal), [""; 0]);
    let without_handler = service(
        "",
        "        - image: a\n          readinessProbe: {periodSeconds: 5}\n",
    );
    assert_eq!(found(&without_handler), [""; 0]);
    let several = service(
        "",
        "        - image: a\n          ports: [{containerPort: 80}]\n          readinessProbe: {}\n        - image: b\n",
    );
    assert_eq!(found(&several), [""; 0]);
}

#[test]
fn what_the_webhook_does_not_set_is_missing() {
    let liveness = service(
        "",
        "        - image: a\n          livenessProbe: {periodSeconds: 5}\n",
    );
    assert_eq!(found(&liveness), ["probe-field-invalid user-container"]);
    let startup = service(
        "",
        "        - image: a\n          startupProbe: {httpGet: {path: /}}\n",
    );
    assert_eq!(found(&startup), ["probe-field-invalid user-container"]);
    let several = service(
        "",
        "        - image: a\n          ports: [{containerPort: 80}]\n        - image: b\n          livenessProbe: {httpGet: {path: /}}\n",
    );
    assert_eq!(found(&several), ["probe-field-invalid user-container-1"]);
    let pod = service(
        "",
        "        - image: a\n          readinessProbe: {httpGet: {port: 80}}\n",
    )
    .replace(
        "serving.knative.dev/v1\nkind: Service",
        "apps/v1\nkind: Deployment",
    );
    assert_eq!(found(&pod), ["container-name-invalid "]);
}

/// The kubelet targets queue-proxy for readiness, and the container for liveness.
#[test]
fn readiness_is_checked_by_queue_proxy() {
    let probes = "        - image: a\n          PORTSreadinessProbe: {tcpSocket: {}}\n          livenessProbe: {httpGet: {}}\n";
    let http = service(OFF, &probes.replace("PORTS", ""));
    let expected = [
        "user-container livenessProbe fails 8080",
        "user-container readinessProbe fails 8012",
    ];
    assert_eq!(predicted(&http), expected);
    let ports = "ports: [{name: h2c, containerPort: 9090}]\n          ";
    let http2 = service(OFF, &probes.replace("PORTS", ports));
    let expected = [
        "user-container livenessProbe fails 9090",
        "user-container readinessProbe fails 8013",
    ];
    assert_eq!(predicted(&http2), expected);
    let excluded = "traffic.sidecar.istio.io/excludeInboundPorts: \"8012\"";
    let excluded = service(&format!("{OFF}, {excluded}"), &probes.replace("PORTS", ""));
    let expected = [
        "user-container livenessProbe fails 8080",
        "user-container readinessProbe ok ",
    ];
    assert_eq!(predicted(&excluded), expected);
    let run = project(&service("", &probes.replace("PORTS", ""))).run(&["predict", "--explain"]);
    run.exits(0).stdout_contains(
        "the kubelet targets queue-proxy on port 8012, which checks the container",
    );
}
