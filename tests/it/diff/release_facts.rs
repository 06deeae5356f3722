//! Each recorded change of behaviour is reported for a manifest that it affects, in both directions.

use super::{cause_of, change};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::project::Project;
use meshprobe::diff::release_facts;

/// The effect of a change of behaviour on a manifest.
struct Scenario {
    /// The start of the sentence about it.
    fact: &'static str,
    /// The release before it, and the first one with it.
    releases: (&'static str, &'static str),
    manifest: String,
    /// The change that an upgrade brings.
    up: &'static str,
    /// The change that a downgrade brings.
    down: &'static str,
}

impl Scenario {
    fn new(
        fact: &'static str,
        releases: (&'static str, &'static str),
        manifest: String,
        up: &'static str,
        down: &'static str,
    ) -> Self {
        Self {
            fact,
            releases,
            manifest,
            up,
            down,
        }
    }
}

pub(super) const AMBIENT: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio.io/dataplane-mode: ambient}}\n";

/// A pod of the namespace `shop`, given the entries of its metadata, and the rest of its spec.
pub(super) fn pod(metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop{metadata}}}\nspec:\n  containers:\n  - name: web\n    image: web\n{spec}"
    )
}

pub(super) const HTTP: &str = "    livenessProbe: {httpGet: {path: /, port: 8080}}\n";

fn annotated(annotation: &str) -> String {
    join(&[
        INJECTED,
        &pod(&format!(", annotations: {{{annotation}}}"), HTTP),
    ])
}

fn strict(pod: &str) -> String {
    join(&[INJECTED, STRICT, pod])
}

/// A pod on the host network in a namespace in ambient mode.
pub(super) fn host_network_pod() -> String {
    let pod = format!("{}  hostNetwork: true\n", pod("", HTTP));
    join(&[AMBIENT, &pod])
}

/// An injected pod whose probe sends a header `Host`.
pub(super) fn host_header() -> String {
    let probe = "    livenessProbe: {httpGet: {path: /, port: 8080, httpHeaders: [{name: Host, value: a.b}]}}\n";
    join(&[INJECTED, &pod("", probe)])
}

/// A native sidecar of the application, whose probe needs the sidecar of Istio to run.
pub(super) fn native(metadata: &str) -> String {
    let init = "  initContainers:\n  - name: log\n    image: log\n    restartPolicy: Always\n    startupProbe: {httpGet: {path: /, port: 8081}}\n";
    strict(&pod(metadata, &format!("{HTTP}{init}")))
}

pub(super) const ENI: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-node, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: aws-node}}
  template:
    metadata: {labels: {k8s-app: aws-node}}
    spec:
      hostNetwork: true
      containers:
      - name: aws-node
        image: registry.example/amazon-k8s-cni:v1.20.1
        env: [{name: ENABLE_POD_ENI, value: 'true'}, {name: POD_SECURITY_GROUP_ENFORCING_MODE, value: strict}]
---
apiVersion: vpcresources.k8s.aws/v1beta1
kind: SecurityGroupPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  securityGroups: {groupIds: [sg-0123456789abcdef0]}
";

fn scenarios() -> Vec<Scenario> {
    let hook = "    lifecycle: {preStop: {httpGet: {path: /, port: 8080}}}\n";
    let entries = "    env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/app-health/web/livez\":{\"httpGet\":{\"path\":\"/\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1},\"/app-lifecycle/web/prestopz\":{\"httpGet\":{\"path\":\"/\",\"port\":8080,\"scheme\":\"HTTP\"}}}'}]\n";
    let entry = "    env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{\"/app-health/web/livez\":{\"httpGet\":{\"path\":\"/\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1}}'}]\n";
    let rewritten = "    livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15020}}\n";
    let marked = ", annotations: {sidecar.istio.io/status: '{}'}";
    let off = ", annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}";
    let proxy = "  - name: istio-proxy\n    image: auto\n";
    let tcp = pod("", "    livenessProbe: {tcpSocket: {port: 8080}}\n");
    let grpc = pod("", "    livenessProbe: {grpc: {port: 8080}}\n");
    let tcp_off = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\nspec: {values: {pilot: {env: {REWRITE_TCP_PROBES: 'false'}}}}\n";
    let init = "  initContainers:\n  - name: log\n    image: log\n    restartPolicy: Always\n    livenessProbe: {httpGet: {path: /, port: 8081}}\n";
    let loopback = "    args: ['--listen=127.0.0.1:8080']\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n";
    let policy = "apiVersion: authentication.istio.io/v1alpha1\nkind: Policy\nmetadata: {name: default, namespace: shop}\nspec: {peers: [{mtls: {mode: STRICT}}]}\n";
    let group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: web, namespace: shop}\nspec:\n  template: {serviceAccount: web}\n  probe: {failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS}}\n";
    let excluding = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\nspec: {values: {cni: {ambient: {enabled: true}, excludeNamespaces: [shop]}}}\n";
    let tag = "apiVersion: v1\nkind: Service\nmetadata: {name: istiod-tag-prod, namespace: istio-system, labels: {istio.io/rev: canary, istio.io/tag: prod}}\nspec: {ports: [{port: 15012}]}\n";
    let plane = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\nspec: {revision: canary}\n";
    let tagged =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio.io/rev: prod}}\n";
    let opa = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled, opa-istio-injection: enabled}}\n";
    let if_needed = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\nspec: {values: {sidecarInjectorWebhook: {reinvocationPolicy: IfNeeded}}}\n";
    let broken = "regression web livenessProbe: ok -> fails";
    let fixed = "improvement web livenessProbe: fails -> ok";
    let admitted = "improvement web livenessProbe: refused -> ok";
    let refused = "regression web livenessProbe: ok -> refused";
    vec![
        Scenario::new(
            "since Istio 1.6, ",
            ("1.5", "1.6"),
            join(&[INJECTED, policy, PROBED]),
            "regression legacy-authentication-api",
            "improvement legacy-authentication-api",
        ),
        Scenario::new(
            "since Istio 1.7, ",
            ("1.6", "1.7"),
            strict(PROBED),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.10, ",
            ("1.9", "1.10"),
            join(&[INJECTED, &pod("", loopback)]),
            "changed localhost-destination-changed",
            "changed localhost-destination-changed",
        ),
        Scenario::new(
            "since Istio 1.12, the injector reads ",
            ("1.11", "1.12"),
            strict(&pod(
                ", labels: {sidecar.istio.io/inject: 'true'}, annotations: {sidecar.istio.io/inject: 'false'}",
                HTTP,
            )),
            "changed web livenessProbe: not-in-mesh -> ok",
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.12, the injector rewrites tcpSocket",
            ("1.11", "1.12"),
            strict(&tcp),
            "improvement web livenessProbe: always-passes -> ok",
            "regression web livenessProbe: ok -> always-passes",
        ),
        Scenario::new(
            "since Istio 1.12, the templates",
            ("1.11", "1.12"),
            strict(&pod(
                ", annotations: {inject.istio.io/templates: grpc-agent}",
                HTTP,
            )),
            "changed web livenessProbe: ok -> ok",
            "changed web livenessProbe: ok -> ok",
        ),
        Scenario::new(
            "since Istio 1.18 (1.17.3), the template `grpc-simple`",
            ("1.17.2", "1.17.3"),
            strict(&pod(
                ", annotations: {inject.istio.io/templates: grpc-simple}",
                &format!("{HTTP}{proxy}"),
            )),
            "changed web livenessProbe: ok -> ok",
            "changed web livenessProbe: ok -> ok",
        ),
        Scenario::new(
            "since Istio 1.13, ",
            ("1.12", "1.13"),
            strict(&grpc),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.17, ",
            ("1.16", "1.17"),
            join(&[
                INJECTED,
                &pod(
                    marked,
                    &format!(
                        "{rewritten}    readinessProbe: {{httpGet: {{path: /r, port: 8080}}}}\n{proxy}{entry}"
                    ),
                ),
            ]),
            "improvement web livenessProbe: fails -> ok",
            "regression web livenessProbe: ok -> fails",
        ),
        Scenario::new(
            "since Istio 1.18.1, ",
            ("1.18.0", "1.18.1"),
            host_header(),
            "regression web livenessProbe: ok -> target-changed",
            "improvement web livenessProbe: target-changed -> ok",
        ),
        Scenario::new(
            "since Istio 1.18.3, ",
            ("1.18.2", "1.18.3"),
            host_header(),
            "improvement web livenessProbe: target-changed -> ok",
            "regression web livenessProbe: ok -> target-changed",
        ),
        Scenario::new(
            "since Istio 1.19, the injector rewrites the probes of init",
            ("1.18", "1.19"),
            strict(&pod("", &format!("{HTTP}{init}"))),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.19, the injector keeps `restartPolicy`",
            ("1.18", "1.19"),
            native(", annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}"),
            "improvement web startupProbe: fails -> ok",
            "regression web startupProbe: ok -> fails",
        ),
        Scenario::new(
            "since Istio 1.19, istiod ignores",
            ("1.18", "1.19"),
            join(&[INJECTED, STRICT, tcp_off, &tcp]),
            "improvement web livenessProbe: always-passes -> ok",
            "regression web livenessProbe: ok -> always-passes",
        ),
        Scenario::new(
            "since Istio 1.22.2, ",
            ("1.22.1", "1.22.2"),
            host_network_pod(),
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.24, the annotation `ambient",
            ("1.23", "1.24"),
            join(&[
                AMBIENT,
                STRICT,
                &pod(
                    ", annotations: {ambient.istio.io/bypass-inbound-capture: 'true'}",
                    HTTP,
                ),
            ]),
            "changed ambient-inbound-bypass",
            "changed ambient-inbound-bypass",
        ),
        Scenario::new(
            "since Istio 1.24, the agent",
            ("1.23", "1.24"),
            group.to_owned(),
            "regression web probe: ok -> fails",
            "improvement web probe: fails -> ok",
        ),
        Scenario::new(
            "since Istio 1.24, the annotation `sidecar",
            ("1.23", "1.24"),
            native(", annotations: {sidecar.istio.io/nativeSidecar: 'true'}"),
            "improvement web startupProbe: fails -> ok",
            "regression web startupProbe: ok -> fails",
        ),
        Scenario::new(
            "since Istio 1.25, the injector",
            ("1.24", "1.25"),
            strict(&pod("", hook)),
            "improvement web preStop: fails -> ok",
            "regression web preStop: ok -> fails",
        ),
        Scenario::new(
            "since Istio 1.25, the agent",
            ("1.24", "1.25"),
            join(&[INJECTED, &pod(off, &format!("{rewritten}{proxy}{entries}"))]),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.27, a second injection",
            ("1.26", "1.27"),
            join(&[
                INJECTED,
                &pod(
                    marked,
                    &format!("{HTTP}  - name: istio-proxy\n    image: proxyv2:1.26\n"),
                ),
            ]),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.27, a second injection",
            ("1.26", "1.27"),
            join(&[opa, STRICT, if_needed, PROBED]),
            "improvement late-injected-container",
            "regression late-injected-container",
        ),
        Scenario::new(
            "since Istio 1.27, `sidecar.istio.io/inject`",
            ("1.26", "1.27"),
            join(&[
                INJECTED,
                &pod(", labels: {sidecar.istio.io/inject: 'no'}", HTTP),
            ]),
            "changed web livenessProbe: not-in-mesh -> ok",
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.27, sidecars are native",
            ("1.26", "1.27"),
            native(""),
            "improvement web startupProbe: fails -> ok",
            "regression web startupProbe: ok -> fails",
        ),
        Scenario::new(
            "since Istio 1.27, istio-cni does not exclude",
            ("1.26", "1.27"),
            host_network_pod(),
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.28, ",
            ("1.27", "1.28"),
            join(&[tagged, plane, tag, PROBED]),
            "changed web livenessProbe: not-in-mesh -> ok",
            "changed web livenessProbe: ok -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.29 (1.27.6, 1.28.4)",
            ("1.28.3", "1.28.4"),
            annotated("sidecar.istio.io/proxyCPU: ' 100m'"),
            refused,
            admitted,
        ),
        Scenario::new(
            "since Istio 1.30, the injector",
            ("1.29", "1.30"),
            annotated("traffic.sidecar.istio.io/excludeInterfaces: 'eth 0'"),
            refused,
            admitted,
        ),
        Scenario::new(
            "since Istio 1.30, istio-cni",
            ("1.29", "1.30"),
            join(&[AMBIENT, excluding, PROBED]),
            "changed web livenessProbe: ok -> not-in-mesh",
            "changed web livenessProbe: not-in-mesh -> ok",
        ),
        Scenario::new(
            "since Istio 1.30 (1.28.7, 1.29.3)",
            ("1.29.2", "1.29.3"),
            join(&[AMBIENT, ENI, &pod(", labels: {app: web}", HTTP)]),
            fixed,
            broken,
        ),
        Scenario::new(
            "since Istio 1.31 (1.29.7, 1.30.4)",
            ("1.30.3", "1.30.4"),
            host_network_pod(),
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
            "changed web livenessProbe: not-in-mesh -> not-in-mesh",
        ),
        Scenario::new(
            "since Istio 1.31, the injector",
            ("1.30", "1.31"),
            annotated("prometheus.io/scrape: 'true', prometheus.io/port: metrics"),
            refused,
            admitted,
        ),
        Scenario::new(
            "since Istio 1.31, the injector",
            ("1.30", "1.31"),
            strict(&NOT_REWRITTEN.replace(
                "annotations: {",
                "annotations: {prometheus.io/scrape: 'true', prometheus.io/port: metrics, ",
            )),
            "regression web readinessProbe: fails -> refused",
            "improvement web readinessProbe: refused -> fails",
        ),
    ]
}

/// Returns the changes of a manifest between two releases, each with its cause.
pub(super) fn upgrade(manifest: &str, from: &str, to: &str) -> Vec<(String, String)> {
    let project = Project::with(&[("all.yaml", manifest)]);
    let nodes = ["--override", "node-version=1.33"];
    let run = super::compare_releases(&project.path(""), from, to, &nodes);
    let report = super::report(&run);
    let all = report.pointer("/changes").unwrap().as_array().unwrap();
    all.iter()
        .map(|entry| (change(entry), cause_of(entry)))
        .collect()
}

#[test]
fn each_fact_is_reported_in_both_directions() {
    let mut failures = Vec::new();
    for scenario in scenarios() {
        let (old, new) = scenario.releases;
        for (from, to, expected) in [(old, new, scenario.up), (new, old, scenario.down)] {
            let found = upgrade(&scenario.manifest, from, to);
            let is_expected = |(change, cause): &(String, String)| {
                change == expected && cause.starts_with(scenario.fact)
            };
            if !found.iter().any(is_expected) {
                failures.push(format!(
                    "{} {from} -> {to}: {expected}: {found:#?}",
                    scenario.fact
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_fact_has_a_scenario() {
    let scenarios = scenarios();
    let page = std::fs::read_to_string("docs/diff.md").unwrap();
    for fact in release_facts() {
        let count = scenarios
            .iter()
            .filter(|scenario| fact.starts_with(scenario.fact))
            .count();
        assert!(count > 0, "no scenario for: {fact}");
        // The patch releases in parentheses contain commas, too.
        let after_patches = fact.split_once("), ").filter(|(head, _)| head.len() < 40);
        let (_, text) = after_patches.or_else(|| fact.split_once(", ")).unwrap();
        let (text, _) = text.rsplit_once(" (").unwrap();
        assert!(page.contains(text), "docs/diff.md lacks: {text}");
    }
    for scenario in &scenarios {
        let facts = release_facts();
        let count = facts
            .iter()
            .filter(|fact| fact.starts_with(scenario.fact))
            .count();
        assert_eq!(count, 1, "{}", scenario.fact);
    }
}
