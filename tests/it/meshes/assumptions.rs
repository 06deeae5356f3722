//! App Mesh, and workarounds for Istio's first releases: what the tree does not show is reported as assumed or
//! unknown.

use std::path::Path;

use crate::support::manifest::{INJECTED, Manifest, Pod, join};
use crate::support::{findings, meshprobe};
use serde_json::Value;

fn node(listener: &str, scheme: &str) -> String {
    let namespace = Manifest::namespace("demo");
    let namespace = namespace.labels("appmesh.k8s.aws/sidecarInjectorWebhook: enabled");
    let node = Manifest::new("appmesh.k8s.aws/v1beta2", "VirtualNode", "web").within("demo");
    let node = node.spec(&format!(
        "{{podSelector: {{}}, listeners: [{{{listener}}}]}}"
    ));
    let probe = format!("httpGet: {{port: 8080, scheme: {scheme}}}");
    let pod = Pod::new("web").within("demo").field("image: w");
    let pod = pod.probe("readinessProbe", &probe).to_string();
    join(&[&namespace.to_string(), &node.to_string(), &pod])
}

fn outcome(text: &str) -> String {
    let arguments = ["predict", "--isolated", "--output-format", "json", "-"];
    let run = meshprobe(Path::new("/"), &arguments, text);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let outcome = json.pointer("/workloads/0/handlers/0/outcome").unwrap();
    outcome.as_str().unwrap().to_owned()
}

/// STRICT accepts only TLS; only `validation` requires a certificate of the client.
#[test]
fn the_tls_settings_of_an_app_mesh_listener_decide() {
    let cases = [
        ("tls: {mode: STRICT}", "HTTP", "fails"),
        ("tls: {mode: STRICT}", "HTTPS", "unknown"),
        (
            "tls: {mode: STRICT, validation: {trust: {}}}",
            "HTTPS",
            "fails",
        ),
        ("tls: {mode: PERMISSIVE}", "HTTP", "ok"),
        ("tls: {mode: PERMISSIVE}", "HTTPS", "unknown"),
        ("tls: {mode: DISABLED}", "HTTPS", "unknown"),
    ];
    for (tls, scheme, expected) in cases {
        let listener = format!("portMapping: {{port: 8080, protocol: http}}, {tls}");
        assert_eq!(
            outcome(&node(&listener, scheme)),
            expected,
            "{tls} {scheme}"
        );
    }
    let forwarded = "portMapping: {port: 8080, protocol: tcp}";
    assert_eq!(outcome(&node(forwarded, "HTTPS")), "ok");
}

/// Returns a Service with the mutual TLS exception of Istio before 1.6, and a pod that checks itself.
fn legacy() -> String {
    let service = Manifest::service("web", "selector: {app: web}, ports: [{port: 8001}]");
    let service = service.within("shop");
    let service = service.annotations("auth.istio.io/8001: NONE").to_string();
    let pod = Pod::new("web").within("shop").labels("app: web");
    let pod = pod.field("image: w\nports: [{containerPort: 8001}]");
    let command = "exec: {command: [curl, -f, 'http://localhost:8001/healthz']}";
    join(&[&service, &pod.probe("livenessProbe", command).to_string()])
}

fn curl(namespace: &str, options: &[&str]) -> Option<Value> {
    let arguments = [
        &["check", "--isolated", "--output-format", "json"],
        options,
        &["-"],
    ]
    .concat();
    let run = meshprobe(Path::new("/"), &arguments, join(&[&legacy(), namespace]));
    let mut all = findings(&run).into_iter();
    all.find(|finding| finding.get("rule").unwrap() == "exec-curl-to-itself")
}

#[test]
fn the_finding_about_curl_to_its_own_pod_depends_on_the_injection() {
    let text = |finding: &Value, key: &str| finding.get(key).unwrap().to_string();
    let open = curl("", &[]).unwrap();
    assert!(text(&open, "message").contains("the agent makes the check"));
    assert_eq!(text(&open, "certainty"), "\"assumed\"");
    assert!(text(&open, "assumptions").contains("--assume injection=all|none"));
    let plain = Manifest::namespace("shop").to_string();
    let outside = curl(&plain, &[]).unwrap();
    assert!(text(&outside, "message").contains("no proxy captures the request"));
    let inside = curl(INJECTED, &[]).unwrap();
    assert!(text(&inside, "message").contains("the agent makes the check"));
    // Before 1.6, probes did not target the agent.
    assert!(curl(INJECTED, &["--mesh-version", "1.5"]).is_none());
}

#[test]
fn old_policies_of_istio_are_not_reported_without_a_mesh() {
    let api = "authentication.istio.io/v1alpha1";
    let policy = Manifest::new(api, "MeshPolicy", "default").spec("{peers: [{mtls: {}}]}");
    let policy = policy.to_string();
    let count = |mesh: &str| {
        let arguments = [
            "check",
            "--isolated",
            "--mesh",
            mesh,
            "--output-format",
            "json",
            "-",
        ];
        findings(&meshprobe(Path::new("/"), &arguments, &policy)).len()
    };
    assert_eq!(count("istio"), 1);
    assert_eq!(count("none"), 0);
}
