//! App Mesh and workarounds of Istio's first years: nothing is claimed that the tree does not show.

use std::path::Path;

use crate::support::{findings, meshprobe};
use serde_json::Value;

fn node(listener: &str, scheme: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: demo, labels: \
         {{appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}}\n---\napiVersion: \
         appmesh.k8s.aws/v1beta2\nkind: VirtualNode\nmetadata: {{name: web, namespace: demo}}\nspec: \
         {{podSelector: {{}}, listeners: [{{{listener}}}]}}\n---\napiVersion: v1\nkind: Pod\nmetadata: \
         {{name: web, namespace: demo}}\nspec:\n  containers:\n    - {{name: web, image: w, readinessProbe: \
         {{httpGet: {{port: 8080, scheme: {scheme}}}}}}}\n"
    )
}

fn outcome(text: &str) -> String {
    let arguments = ["predict", "--isolated", "--output-format", "json", "-"];
    let run = meshprobe(Path::new("/"), &arguments, text);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let outcome = json.pointer("/workloads/0/handlers/0/outcome").unwrap();
    outcome.as_str().unwrap().to_owned()
}

/// STRICT takes TLS alone; only `validation` asks for the client's certificate.
#[test]
fn https_at_a_listener_of_app_mesh() {
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
    let passed_on = "portMapping: {port: 8080, protocol: tcp}";
    assert_eq!(outcome(&node(passed_on, "HTTPS")), "ok");
}

const LEGACY: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop, annotations: \
                      {auth.istio.io/8001: NONE}}\nspec: {selector: {app: web}, ports: [{port: 8001}]}\n---\napiVersion: \
                      v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec:\n  containers:\n    - \
                      {name: web, image: w, ports: [{containerPort: 8001}], livenessProbe: {exec: {command: [curl, -f, \
                      \"http://localhost:8001/healthz\"]}}}\n";

fn curl(more: &str, options: &[&str]) -> Option<Value> {
    let arguments = [
        &["check", "--isolated", "--output-format", "json"],
        options,
        &["-"],
    ]
    .concat();
    let run = meshprobe(Path::new("/"), &arguments, format!("{LEGACY}{more}"));
    let mut all = findings(&run).into_iter();
    all.find(|one| one.get("rule").unwrap() == "exec-curl-to-itself")
}

#[test]
fn curl_to_itself_claims_no_agent_that_nobody_proved() {
    let text = |one: &Value, key: &str| one.get(key).unwrap().to_string();
    let open = curl("", &[]).unwrap();
    assert!(text(&open, "message").contains("the agent makes the check"));
    assert_eq!(text(&open, "certainty"), "\"assumed\"");
    assert!(text(&open, "assumptions").contains("--assume injection=all|none"));
    let plain = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    let outside = curl(plain, &[]).unwrap();
    assert!(text(&outside, "message").contains("no proxy stands in the way"));
    let injected = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";
    let inside = curl(injected, &[]).unwrap();
    assert!(text(&inside, "message").contains("the agent makes the check"));
    // Before 1.6 the agent was not asked.
    assert!(curl(injected, &["--mesh-version", "1.5"]).is_none());
}

#[test]
fn without_a_mesh_its_old_policies_are_nobodys() {
    let policy = "apiVersion: authentication.istio.io/v1alpha1\nkind: MeshPolicy\nmetadata: {name: default}\nspec: {peers: \
                  [{mtls: {}}]}\n";
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
        findings(&meshprobe(Path::new("/"), &arguments, policy)).len()
    };
    assert_eq!(count("istio"), 1);
    assert_eq!(count("none"), 0);
}
