//! A message names the actual cause, and only that.

use crate::support::Run;
use crate::support::manifest::Manifest;
use crate::support::project::Project;

const OFF: &str = "sidecar.istio.io/rewriteAppHTTPProbers: \"false\"";

/// A pod with this annotation and this line of its container.
fn pod(annotation: &str, container: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: ledger\n  namespace: pay\n  labels: {{app: ledger}}\n  \
         annotations:\n    {annotation}\nspec:\n  containers:\n    - name: app\n      image: ledger:1\n      {container}\n"
    )
}

/// Returns the findings about a pod in an injected namespace with this policy.
fn findings_with(policy: Option<&Manifest>, pod: &str) -> String {
    let namespace = Manifest::namespace("pay").injected();
    let policy = policy.map(|policy| format!("---\n{policy}"));
    let policy = policy.unwrap_or_default();
    report_of(&format!("{namespace}{policy}---\n{pod}"))
}

/// The policy that requires mutual TLS in the namespace of the pods.
fn strict() -> Manifest {
    Manifest::peer_authentication("pay", "STRICT")
}

/// Returns the JSON report of `check` for a manifest.
fn report_of(text: &str) -> String {
    let project = Project::with(&[("m.yaml", text)]);
    let run: Run = project.run(&["check", "--isolated", "--output-format", "json"]);
    run.stdout
}

#[test]
fn a_quoted_port_is_reported_once() {
    let text = pod(OFF, "livenessProbe: {tcpSocket: {port: \"80\"}}");
    let report = findings_with(None, &text);
    assert!(report.contains("probe-port-quoted-number"), "{report}");
    assert!(!report.contains("port 0"), "{report}");
    assert!(!report.contains("tcp-probe-always-passes"), "{report}");
    let http = text.replace("tcpSocket", "httpGet");
    let report = findings_with(Some(&strict()), &http);
    assert!(report.contains("port 80 requires mutual TLS"), "{report}");
}

#[test]
fn a_denial_names_the_fields_of_the_policy_that_cause_it() {
    let policy = |action: &str, rules: &str| {
        let pod = pod(
            OFF,
            "livenessProbe: {httpGet: {path: /healthz, port: 8080}}",
        );
        let spec = format!("action: {action}, rules: {rules}");
        let policy = Manifest::authorization_policy("z", &spec).within("pay");
        findings_with(Some(&policy), &pod)
    };
    let identity = "the kubelet has no identity";
    let deny_identity = "which has no identity";
    let cases = [
        (
            "ALLOW",
            "[{to: [{operation: {ports: ['80']}}]}]",
            "because it does not match `ports`",
        ),
        (
            "ALLOW",
            "[{to: [{operation: {methods: [POST], ports: ['80']}}]}]",
            "because it does not match `methods` and `ports`",
        ),
        (
            "ALLOW",
            "[{from: [{source: {principals: ['*']}}], to: [{operation: {paths: [/x]}}]}]",
            "because it does not match `paths`",
        ),
        (
            "ALLOW",
            "[{when: [{key: destination.port, values: ['80']}]}]",
            "because it does not match `destination.port`",
        ),
        ("ALLOW", "[]", "because the policy has no rule"),
        (
            "DENY",
            "[{to: [{operation: {ports: ['8080']}}]}]",
            "matches every client",
        ),
    ];
    for (action, rules, expected) in cases {
        let report = policy(action, rules);
        assert!(report.contains(expected), "{rules}: {report}");
        assert!(
            !report.contains(identity) && !report.contains(deny_identity),
            "{report}"
        );
    }
    // If all other fields match, the identity is the cause.
    let who = "[{from: [{source: {principals: ['*']}}], to: [{operation: {ports: ['8080']}}]}]";
    assert!(policy("ALLOW", who).contains(identity));
    let others = "[{from: [{source: {notPrincipals: [x]}}]}]";
    assert!(policy("DENY", others).contains(deny_identity));
}

#[test]
fn quotes_in_a_value_that_the_injector_inserts_must_be_escaped() {
    let env = r#"{"/app-health/app/livez":{"httpGet":{"path":"/alive","port":9191,"scheme":"HTTP"},"timeoutSeconds":1}}"#;
    let config = format!(
        "proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{env}'"
    );
    let probe = "livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}";
    let raw = findings_with(None, &pod(&config, probe));
    assert!(
        raw.contains("the injector pastes the value between double quotes"),
        "{raw}"
    );
    let escaped = config.replace('"', "\\\"");
    let fine = findings_with(None, &pod(&escaped, probe));
    assert!(!fine.contains("probers-env-invalid"), "{fine}");
}

#[test]
fn the_message_names_the_undo_command() {
    let probe = "livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}";
    let report = report_of(&pod("sidecar.istio.io/inject: \"false\"", probe));
    assert!(report.contains("`meshprobe rewrite --undo`"), "{report}");
}

#[test]
fn an_extra_comma_is_named_in_the_message() {
    let list = "traffic.sidecar.istio.io/excludeInboundPorts: \"80,\"";
    let text = pod(list, "livenessProbe: {httpGet: {path: /, port: 80}}");
    let report = findings_with(None, &text);
    assert!(report.contains("an entry between two commas"), "{report}");
}

#[test]
fn the_message_about_a_hook_does_not_describe_a_check() {
    let hook = "lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}";
    let report = findings_with(Some(&strict()), &pod(OFF, hook));
    assert!(report.contains("makes the call"), "{report}");
}
