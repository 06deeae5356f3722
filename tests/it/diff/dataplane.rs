//! Moves between sidecars, ambient mode and no mesh, item by item.

use serde_json::Value;

use super::{change, report};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::project::Project;

/// Returns the changes of a manifest with some options, each with its cause and its source.
fn moved(manifest: &str, options: &[&str]) -> Vec<(String, Value)> {
    let project = Project::with(&[("all.yaml", manifest)]);
    let start = ["diff", "--output-format", "json"];
    let report = report(&project.run(&[&start[..], options].concat()));
    let all = report.pointer("/changes").unwrap().as_array().unwrap();
    all.iter()
        .map(|entry| (change(entry), entry.clone()))
        .collect()
}

const TO_AMBIENT: [&str; 2] = ["--to", "dataplane=ambient"];
const TO_SIDECAR: [&str; 4] = ["--from", "dataplane=ambient", "--to", "dataplane=sidecar"];

/// Checks the changes of a move, and that each changed verdict names the option and a source.
#[track_caller]
fn assert_moved(manifest: &str, options: &[&str], expected: &[&str]) {
    let found = moved(manifest, options);
    let changes: Vec<&str> = found.iter().map(|(change, _)| &**change).collect();
    assert_eq!(changes, expected);
    for (change, entry) in &found {
        let text = |pointer: &str| {
            entry
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        assert!(
            text("/cause/message").contains("dataplane="),
            "{change}: {entry}"
        );
        if entry.pointer("/probe/name").is_some() {
            assert!(text("/cause/source").contains('/'), "{change}: {entry}");
        }
    }
}

fn with_annotation(annotation: &str) -> String {
    PROBED.replace(
        "namespace: shop",
        &format!("namespace: shop, annotations: {{{annotation}}}"),
    )
}

#[test]
fn plain_probes_are_fixed() {
    let strict = join(&[INJECTED, STRICT, NOT_REWRITTEN]);
    assert_moved(
        &strict,
        &TO_AMBIENT,
        &[
            "changed ambient-rewrite-annotation-dead",
            "improvement web readinessProbe: fails -> ok",
        ],
    );
    assert_moved(
        &strict,
        &TO_SIDECAR,
        &[
            "regression web readinessProbe: ok -> fails",
            "changed ambient-rewrite-annotation-dead",
        ],
    );
    assert_moved(
        &strict,
        &["--to", "dataplane=none"],
        &["improvement web readinessProbe: fails -> not-in-mesh"],
    );
    assert_moved(
        &strict,
        &["--from", "dataplane=none"],
        &["regression web readinessProbe: not-in-mesh -> fails"],
    );
}

#[test]
fn pre_rewritten_probes_fail_without_an_agent() {
    let env = "  - name: istio-proxy\n    image: auto\n    env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/app-health/web/readyz\":{\"httpGet\":{\"path\":\"/\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1}}'}]\n";
    let rewritten = NOT_REWRITTEN.replace(
        "path: /, port: 8080",
        "path: /app-health/web/readyz, port: 15020",
    ) + env;
    let manifest = join(&[INJECTED, STRICT, &rewritten]);
    let expected = [
        "regression web readinessProbe: ok -> fails",
        "regression rewritten-without-sidecar",
    ];
    assert_moved(&manifest, &TO_AMBIENT, &expected);
    assert_moved(&manifest, &["--to", "dataplane=none"], &expected);
    assert_moved(
        &manifest,
        &TO_SIDECAR,
        &[
            "improvement web readinessProbe: fails -> ok",
            "improvement rewritten-without-sidecar",
        ],
    );
}

#[test]
fn a_network_policy_blocks_the_address_of_the_kubelet() {
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web, namespace: shop}\nspec:\n  podSelector: {}\n  ingress: [{from: [{namespaceSelector: {}}]}]\n";
    let manifest = join(&[INJECTED, policy, PROBED]);
    let found = moved(&manifest, &TO_AMBIENT);
    let (_, entry) = found
        .iter()
        .find(|(change, _)| change == "regression web livenessProbe: ok -> fails")
        .unwrap();
    assert!(
        entry
            .pointer("/cause/source")
            .unwrap()
            .as_str()
            .unwrap()
            .contains("169.254.7.127")
    );
    let because = entry.pointer("/after/because").unwrap().to_string();
    assert!(because.contains("\"path\":\"all.yaml\""), "{because}");
}

#[test]
fn http_policies_need_a_waypoint() {
    let policy = |action: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {{name: web, namespace: shop}}\nspec: {{action: {action}, rules: [{{to: [{{operation: {{methods: [GET]}}}}]}}]}}\n"
        )
    };
    for action in ["ALLOW", "DENY"] {
        let manifest = join(&[INJECTED, &policy(action), PROBED]);
        let found = moved(&manifest, &TO_AMBIENT);
        assert!(
            found
                .iter()
                .any(|(change, _)| change == "regression ambient-l7-policy"),
            "{found:?}"
        );
        let back = moved(&manifest, &TO_SIDECAR);
        assert!(
            back.iter()
                .any(|(change, _)| change == "improvement ambient-l7-policy"),
            "{back:?}"
        );
    }
    let of_waypoint = policy("ALLOW").replace(
        "spec: {",
        "spec: {targetRefs: [{kind: Gateway, group: gateway.networking.k8s.io, name: waypoint}], ",
    );
    let found = moved(&join(&[INJECTED, &of_waypoint, PROBED]), &TO_AMBIENT);
    assert!(
        found
            .iter()
            .all(|(change, _)| change != "regression ambient-l7-policy"),
        "{found:?}"
    );
}

#[test]
fn annotations_for_the_sidecar_lose_their_effect() {
    let excluded = with_annotation(
        "traffic.sidecar.istio.io/excludeInboundPorts: '8080', proxy.istio.io/config: 'holdApplicationUntilProxyStarts: true'",
    );
    let manifest = join(&[INJECTED, STRICT, &excluded]);
    let found = moved(&manifest, &TO_AMBIENT);
    let (_, entry) = found
        .iter()
        .find(|(change, _)| change == "changed ambient-sidecar-annotation-dead")
        .unwrap();
    let message = entry.pointer("/finding/message").unwrap().as_str().unwrap();
    for part in [
        "excludeInboundPorts",
        "proxy.istio.io/config",
        "ztunnel captures all inbound ports",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn labels_keep_pods_where_they_are() {
    let requested = PROBED.replace(
        "namespace: shop",
        "namespace: shop, labels: {sidecar.istio.io/inject: 'true'}",
    );
    let manifest = join(&[
        INJECTED,
        &requested,
        &NOT_REWRITTEN.replace("name: web", "name: api"),
        STRICT,
    ]);
    let project = Project::with(&[("all.yaml", &*manifest)]);
    let run = project.run(&[&["diff"], &TO_AMBIENT[..]].concat()).exits(0);
    let note = "note: not moved by `dataplane`: shop/Pod/web, which keeps its sidecar: label `sidecar.istio.io/inject` (all.yaml:7)";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let opted_out = PROBED.replace(
        "namespace: shop",
        "namespace: shop, labels: {istio.io/dataplane-mode: none}",
    );
    assert_moved(
        &join(&[INJECTED, &opted_out]),
        &TO_AMBIENT,
        &["changed web livenessProbe: ok -> not-in-mesh"],
    );
}

#[test]
fn a_move_can_be_limited() {
    let bank = INJECTED.replace("name: shop", "name: bank");
    let api = NOT_REWRITTEN
        .replace("namespace: shop", "namespace: bank")
        .replace("name: web", "name: api");
    let labelled = NOT_REWRITTEN.replace(
        "  namespace: shop\n",
        "  namespace: shop\n  labels: {tier: front}\n",
    );
    let strict = STRICT.replace("namespace: shop", "namespace: bank");
    let manifest = join(&[INJECTED, STRICT, &labelled, &bank, &strict, &api]);
    for selection in [
        ["--select-namespace", "shop"],
        ["--select-labels", "tier=front"],
    ] {
        let options = [&TO_AMBIENT[..], &selection[..]].concat();
        assert_moved(
            &manifest,
            &options,
            &[
                "changed ambient-rewrite-annotation-dead",
                "improvement web readinessProbe: fails -> ok",
            ],
        );
    }
}
