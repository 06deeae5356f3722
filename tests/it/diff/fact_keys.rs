//! `--from` and `--to` accept every key of `--assume`, for all pods and for selected ones.

use super::changes;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::project::Project;
use meshprobe::settings::FACT_KEYS;

const AMBIENT: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio.io/dataplane-mode: ambient}}\n";
const EXPECTED_FAULT: &str = "regression web livenessProbe: ok -> fails";

/// A fact, a manifest that depends on it, and the change of the probe.
struct Case {
    fact: &'static str,
    manifest: String,
    expected: &'static str,
}

/// A native sidecar of the application with a startup probe that is not rewritten.
fn native(annotations: &str) -> String {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {{{annotations}}}\nspec:\n  \
         initContainers:\n  - name: log\n    image: log\n    restartPolicy: Always\n    startupProbe: {{httpGet: {{path: /, port: 8081}}}}\n  \
         containers:\n  - name: web\n    image: web\n"
    );
    join(&[INJECTED, STRICT, &pod])
}

fn cases() -> Vec<Case> {
    let case = |fact, manifest, expected| Case {
        fact,
        manifest,
        expected,
    };
    let rewritten = NOT_REWRITTEN.replace(
        "httpGet: {path: /, port: 8080}",
        "httpGet: {path: /app-health/web/readyz, port: 15020}",
    ) + "  - name: istio-proxy\n    image: auto\n    env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/app-health/web/readyz\":{\"httpGet\":{\"path\":\"/\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1}}'}]\n";
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web, namespace: shop}\nspec:\n  podSelector: {}\n  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/16}}], ports: [{port: 8080}]}]\n";
    let strict_in_root = STRICT.replace("namespace: shop", "namespace: mesh-root");
    let by_revision = INJECTED.replace("istio-injection: enabled", "istio.io/rev: stable");
    let broken = "regression web readinessProbe: ok -> fails";
    vec![
        case(
            "ambient=false",
            join(&[AMBIENT, PROBED]),
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        case(
            "cni=true",
            native(
                "sidecar.istio.io/nativeSidecar: 'false', sidecar.istio.io/rewriteAppHTTPProbers: 'false'",
            ),
            "regression web startupProbe: ok -> fails",
        ),
        case(
            "cni-enforces-node-traffic=true",
            join(&[INJECTED, policy, PROBED]),
            EXPECTED_FAULT,
        ),
        case(
            "dataplane=none",
            join(&[INJECTED, PROBED]),
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        case(
            "injection=none",
            PROBED.to_owned(),
            "changed web livenessProbe: unknown -> not-in-mesh",
        ),
        case(
            "mesh-version=1.12",
            join(&[
                INJECTED,
                STRICT,
                &PROBED.replace("httpGet: {path: /, port: 8080}", "grpc: {port: 8080}"),
            ]),
            EXPECTED_FAULT,
        ),
        case("mtls=STRICT", join(&[INJECTED, NOT_REWRITTEN]), broken),
        case(
            "native-sidecars=true",
            native("a: b"),
            "improvement web startupProbe: fails -> ok",
        ),
        case(
            "network-plugin=ovn-kubernetes",
            join(&[AMBIENT, PROBED]),
            EXPECTED_FAULT,
        ),
        case(
            "node-version=1.33",
            native("a: b"),
            "improvement web startupProbe: fails -> ok",
        ),
        case(
            "revision=canary",
            join(&[&by_revision, PROBED]),
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        case(
            "rewrite=false",
            join(&[INJECTED, STRICT, PROBED]),
            EXPECTED_FAULT,
        ),
        case(
            "root-namespace=mesh-root",
            join(&[INJECTED, &strict_in_root, NOT_REWRITTEN]),
            broken,
        ),
        case("status-port=15555", join(&[INJECTED, &rewritten]), broken),
    ]
}

#[test]
fn every_key_changes_what_depends_on_it() {
    let mut failures = Vec::new();
    for Case {
        fact,
        manifest,
        expected,
    } in cases()
    {
        let project = Project::with(&[("all.yaml", &*manifest)]);
        let start = ["diff", "--output-format", "json"];
        let selections = [&[][..], &["--select-namespace", "shop"]];
        let mut runs = Vec::new();
        for selection in selections {
            let forward = project.run(&[&start[..], &["--to", fact], selection].concat());
            let back = project.run(&[&start[..], &["--from", fact], selection].concat());
            assert!(!forward.stdout.is_empty(), "{fact}: {}", forward.stderr);
            let is_found = |change: &String| change == expected;
            if !changes(&forward).iter().any(is_found) {
                failures.push(format!(
                    "--to {fact} {selection:?}: {expected}: {:?}",
                    changes(&forward)
                ));
            }
            assert_eq!(changes(&forward).len(), changes(&back).len(), "{fact}");
            runs.push(changes(&forward));
        }
        // All pods are selected, so the selection changes nothing.
        if runs.first() != runs.last() {
            failures.push(format!("{fact}: a selection of all pods differs: {runs:?}"));
        }
        let other = ["--to", fact, "--select-labels", "app=other"];
        let run = project.run(&[&start[..], &other].concat()).exits(2);
        assert!(
            run.stderr.contains("select no workload"),
            "{fact}: {}",
            run.stderr
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_key_is_forgotten() {
    let cases = cases();
    let keys: Vec<&str> = cases
        .iter()
        .filter_map(|case| Some(case.fact.split_once('=')?.0))
        .collect();
    for key in FACT_KEYS {
        assert!(keys.contains(key), "{key}");
    }
    assert_eq!(keys.len(), FACT_KEYS.len() + 1, "and mesh-version");
}
