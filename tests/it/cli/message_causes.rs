//! A message names the cause, and nothing that is not one.

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
    said(&format!("{namespace}{policy}---\n{pod}"))
}

/// The policy that demands mutual TLS in the namespace of the pods.
fn strict() -> Manifest {
    Manifest::peer_authentication("pay", "STRICT")
}

/// What is said, on one line each.
fn said(text: &str) -> String {
    let project = Project::with(&[("m.yaml", text)]);
    let run: Run = project.run(&["check", "--isolated", "--output-format", "json"]);
    run.stdout
}

#[test]
fn a_quoted_port_is_told_once() {
    let text = pod(OFF, "livenessProbe: {tcpSocket: {port: \"80\"}}");
    let said = findings_with(None, &text);
    assert!(said.contains("probe-port-quoted-number"), "{said}");
    assert!(!said.contains("port 0"), "{said}");
    assert!(!said.contains("tcp-probe-always-passes"), "{said}");
    let http = text.replace("tcpSocket", "httpGet");
    let said = findings_with(Some(&strict()), &http);
    assert!(said.contains("port 80 demands mutual TLS"), "{said}");
}

#[test]
fn a_policy_refuses_for_what_it_names() {
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
            "as it does not fit `ports`",
        ),
        (
            "ALLOW",
            "[{to: [{operation: {methods: [POST], ports: ['80']}}]}]",
            "as it does not fit `methods` and `ports`",
        ),
        (
            "ALLOW",
            "[{from: [{source: {principals: ['*']}}], to: [{operation: {paths: [/x]}}]}]",
            "as it does not fit `paths`",
        ),
        (
            "ALLOW",
            "[{when: [{key: destination.port, values: ['80']}]}]",
            "as it does not fit `destination.port`",
        ),
        ("ALLOW", "[]", "because the policy has no rule"),
        (
            "DENY",
            "[{to: [{operation: {ports: ['8080']}}]}]",
            "matches it, whoever calls",
        ),
    ];
    for (action, rules, expected) in cases {
        let said = policy(action, rules);
        assert!(said.contains(expected), "{rules}: {said}");
        assert!(
            !said.contains(identity) && !said.contains(deny_identity),
            "{said}"
        );
    }
    // Where the rest fits, it is the identity.
    let who = "[{from: [{source: {principals: ['*']}}], to: [{operation: {ports: ['8080']}}]}]";
    assert!(policy("ALLOW", who).contains(identity));
    let others = "[{from: [{source: {notPrincipals: [x]}}]}]";
    assert!(policy("DENY", others).contains(deny_identity));
}

#[test]
fn what_the_injector_pastes_is_escaped() {
    let env = r#"{"/app-health/app/livez":{"httpGet":{"path":"/alive","port":9191,"scheme":"HTTP"},"timeoutSeconds":1}}"#;
    let config = format!(
        "proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{env}'"
    );
    let probe = "livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}";
    let raw = findings_with(None, &pod(&config, probe));
    assert!(
        raw.contains("the injector pastes it between double quotes"),
        "{raw}"
    );
    let escaped = config.replace('"', "\\\"");
    let fine = findings_with(None, &pod(&escaped, probe));
    assert!(!fine.contains("probers-env-invalid"), "{fine}");
}

#[test]
fn the_way_back_is_named() {
    let probe = "livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15020}}";
    let said = said(&pod("sidecar.istio.io/inject: \"false\"", probe));
    assert!(said.contains("`meshprobe rewrite --undo`"), "{said}");
}

#[test]
fn a_comma_too_many_is_called_so() {
    let list = "traffic.sidecar.istio.io/excludeInboundPorts: \"80,\"";
    let text = pod(list, "livenessProbe: {httpGet: {path: /, port: 80}}");
    let said = findings_with(None, &text);
    assert!(said.contains("nothing stands between two commas"), "{said}");
}

#[test]
fn a_hook_calls_and_does_not_check() {
    let hook = "lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}";
    let said = findings_with(Some(&strict()), &pod(OFF, hook));
    assert!(said.contains("makes the call"), "{said}");
}
