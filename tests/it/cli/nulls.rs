//! The API server removes null from the mappings of custom resources before it validates them.
//!
//! The results were compared with `PruneNonNullableNullsWithoutDefaults` of apiextensions-apiserver 0.34.1.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT_MESH};
use crate::support::predictions::{handlers, texts};
use crate::support::project::Project;

/// The rules about objects that the API server or istiod refuse.
const REFUSED: [&str; 6] = [
    "mesh-config-invalid",
    "peerauth-bad-mode",
    "policy-invalid",
    "vm-field-type",
    "vm-port",
    "vm-probe-without-handler",
];

/// Returns who refuses an object with this spec, and why; empty if it is accepted.
fn refused(kind: &str, spec: &str) -> String {
    let group = match kind {
        "PeerAuthentication" | "AuthorizationPolicy" => "security.istio.io/v1",
        _ => "networking.istio.io/v1beta1",
    };
    let object = format!(
        "apiVersion: {group}\nkind: {kind}\nmetadata: {{name: x, namespace: shop}}\nspec: {spec}\n"
    );
    let project = Project::with(&[("x.yaml", &object)]);
    let run = project.run(&["check", "--output-format", "json"]);
    let found = findings(&run).into_iter();
    let found = found.filter(|finding| REFUSED.iter().any(|rule| finding["rule"] == *rule));
    let message = |finding: Value| finding["message"].as_str().unwrap().to_owned();
    found.map(message).collect::<Vec<_>>().join("; ")
}

#[test]
fn null_in_a_mapping_is_accepted() {
    for (kind, spec) in [
        ("PeerAuthentication", ""),
        ("PeerAuthentication", "~"),
        ("PeerAuthentication", "{selector: null}"),
        ("PeerAuthentication", "{selector: {matchLabels: null}}"),
        (
            "PeerAuthentication",
            "{selector: {matchLabels: {app: null}}}",
        ),
        ("PeerAuthentication", "{mtls: null}"),
        ("PeerAuthentication", "{mtls: {mode: null}}"),
        ("PeerAuthentication", "{portLevelMtls: null}"),
        (
            "PeerAuthentication",
            "{selector: {matchLabels: {app: web}}, portLevelMtls: {8080: {mode: null}}}",
        ),
        (
            "PeerAuthentication",
            "{selector: {matchLabels: {app: web}}, portLevelMtls: {8080: null, 9090: {mode: STRICT}}}",
        ),
        ("AuthorizationPolicy", ""),
        ("AuthorizationPolicy", "{selector: null}"),
        (
            "AuthorizationPolicy",
            "{targetRef: null, targetRefs: null, selector: {matchLabels: {app: web}}}",
        ),
        ("AuthorizationPolicy", "{action: null}"),
        ("AuthorizationPolicy", "{rules: null}"),
        (
            "AuthorizationPolicy",
            "{rules: [{from: null, to: null, when: null}]}",
        ),
        (
            "AuthorizationPolicy",
            "{rules: [{to: [{operation: {methods: [GET], paths: null}}]}]}",
        ),
        (
            "AuthorizationPolicy",
            "{rules: [{when: [{key: source.namespace, values: [a], notValues: null}]}]}",
        ),
        (
            "AuthorizationPolicy",
            "{rules: [{from: [{source: {namespaces: [a], serviceAccounts: null}}]}]}",
        ),
        ("ProxyConfig", ""),
        (
            "ProxyConfig",
            "{selector: null, concurrency: null, image: null}",
        ),
        ("ProxyConfig", "{environmentVariables: {A: null}}"),
        (
            "WorkloadGroup",
            "{metadata: null, template: {serviceAccount: a, labels: null, ports: null}, probe: null}",
        ),
        (
            "WorkloadGroup",
            "{template: {ports: {a: null}}, probe: {periodSeconds: null, tcpSocket: {port: 80, host: null}}}",
        ),
        (
            "WorkloadGroup",
            "{template: {serviceAccount: a}, probe: {httpGet: {port: 80, path: null, httpHeaders: [{name: a, value: null}]}}}",
        ),
    ] {
        assert_eq!(refused(kind, spec), "", "{kind} {spec}");
    }
}

#[test]
fn null_in_a_list_and_what_is_then_missing_are_refused() {
    for (kind, spec, reason) in [
        (
            "AuthorizationPolicy",
            "{rules: [null]}",
            "the API server rejects AuthorizationPolicy `x`: `spec.rules[0]` is null, expected a mapping",
        ),
        (
            "AuthorizationPolicy",
            "{rules: [{from: [{source: null}]}]}",
            "istiod rejects AuthorizationPolicy `x`: `spec.rules[0].from[0]` contains no condition that is not empty",
        ),
        (
            "AuthorizationPolicy",
            "{rules: [{to: [{operation: null}]}]}",
            "istiod rejects AuthorizationPolicy `x`: `spec.rules[0].to[0]` contains no condition that is not empty",
        ),
        (
            "WorkloadGroup",
            "{template: {serviceAccount: a}, probe: {exec: {command: [a, null]}}}",
            "the API server refuses `spec.probe.exec.command[1]` of WorkloadGroup `x`: expected a string, found null",
        ),
    ] {
        assert_eq!(refused(kind, spec), reason, "{kind} {spec}");
    }
}

/// Returns the outcome of the probe of a pod without labels, and of one with the label `app: web`.
fn outcomes(policy: &str) -> [String; 2] {
    ["", "  labels: {app: web}\n"].map(|labels| {
        let pod = NOT_REWRITTEN.replace("  annotations:", &format!("{labels}  annotations:"));
        let files = [
            ("pod.yaml", format!("{INJECTED}---\n{pod}")),
            ("policy.yaml", policy.to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        let project = Project::with(&files);
        let run = project.run(&["predict", "--output-format", "json"]);
        texts(&handlers(&run)[0], &["/outcome"])
    })
}

#[test]
fn a_label_with_null_is_not_required() {
    let strict = STRICT_MESH.replace("istio-system", "shop");
    let open = "fails";
    for (selector, expected) in [
        ("{}", [open, open]),
        ("{matchLabels: null}", [open, open]),
        ("{matchLabels: {app: null}}", [open, open]),
        ("{matchLabels: {app: ~, x: }}", [open, open]),
        ("{matchLabels: {app: web, x: null}}", ["ok", open]),
        ("{matchLabels: {app: web, x: ''}}", ["ok", "ok"]),
    ] {
        let policy = strict.replace("spec: {", &format!("spec: {{selector: {selector}, "));
        assert_eq!(outcomes(&policy), expected, "{selector}");
        let denied = format!(
            "{STRICT_MESH}---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {{name: deny, namespace: shop}}\nspec:\n  \
             selector: {selector}\n  action: DENY\n  rules: [{{to: [{{operation: {{ports: ['8080'], paths: null}}}}]}}]\n"
        ).replace("STRICT", "PERMISSIVE");
        assert_eq!(outcomes(&denied), expected, "{selector}");
    }
}
