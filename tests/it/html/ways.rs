//! The way of each probe: the hops that the model determines, and the one at which it fails.

use crate::support::fixture;
use crate::support::manifest::{Manifest, Pod, join};
use crate::support::meshprobe;
use crate::support::project::Project;

use super::parsed::{Part, parts};

/// A prediction in a report.
#[derive(Debug, Default)]
struct Shown {
    outcome: String,
    /// The hops, each with its state.
    hops: Vec<(String, String)>,
}

impl Shown {
    /// Returns the hops as a text, such as `kubelet > Envoy (fault) > application (missed)`.
    fn way(&self) -> String {
        let hops = self.hops.iter().map(|(name, state)| match state.as_str() {
            "passed" => name.clone(),
            state => format!("{name} ({state})"),
        });
        hops.collect::<Vec<_>>().join(" > ")
    }

    fn count(&self, state: &str) -> usize {
        self.hops.iter().filter(|(_, of)| of == state).count()
    }
}

/// Returns all predictions of a report.
fn shown(html: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut last_text = String::new();
    let mut is_outcome = false;
    let mut expects_name = false;
    for part in parts(html) {
        match part {
            Part::Start(_, attributes) => match attributes.get("class").map(String::as_str) {
                Some("variant") => all.push(Shown::default()),
                Some(class) if class.starts_with("hop ") => {
                    let state = class.trim_start_matches("hop ").to_owned();
                    all.last_mut().unwrap().hops.push((String::new(), state));
                    expects_name = true;
                }
                _ => {}
            },
            Part::Text(text) => {
                if std::mem::take(&mut expects_name) {
                    all.last_mut()
                        .unwrap()
                        .hops
                        .last_mut()
                        .unwrap()
                        .0
                        .clone_from(&text);
                }
                if std::mem::take(&mut is_outcome) {
                    all.last_mut().unwrap().outcome.clone_from(&text);
                }
                last_text = text;
            }
            Part::End(name) => is_outcome = name == "dt" && last_text == "outcome",
        }
    }
    all
}

#[test]
fn a_way_has_one_fault_if_and_only_if_the_probe_is_broken() {
    let mut count = 0;
    for tree in [
        "rules",
        "platform",
        "demo",
        "meshes",
        "istio",
        "osm",
        "kuma",
        "consul",
        "live",
        "kustomize",
    ] {
        for options in [
            &[][..],
            &["--assume", "injection=all", "--assume", "mtls=STRICT"],
        ] {
            let arguments: Vec<&str> = ["predict", ".", "--output-format", "html"]
                .into_iter()
                .chain(options.iter().copied())
                .collect();
            let page = meshprobe(&fixture(tree), &arguments, "").stdout;
            for shown in shown(&page) {
                let expected = match shown.outcome.as_str() {
                    "ok" | "not-in-mesh" => (0, 0),
                    "unknown" => (0, 1),
                    _ => (1, 0),
                };
                let found = (shown.count("fault"), shown.count("unknown"));
                assert_eq!(found, expected, "{tree}: {shown:?}");
                let reaches = shown.hops.last().is_none_or(|(_, state)| state == "passed");
                assert_eq!(reaches, expected == (0, 0), "{tree}: {shown:?}");
                count += 1;
            }
        }
    }
    assert!(count > 1500, "only {count} predictions");
}

fn way(manifests: &[String], options: &[&str]) -> String {
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    let project = Project::with(&[("a.yaml", &join(&manifests))]);
    let arguments: Vec<&str> = ["predict", "--output-format", "html"]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let ways: Vec<String> = shown(&project.run(&arguments).stdout)
        .iter()
        .map(Shown::way)
        .collect();
    ways.join("\n")
}

/// A pod of the namespace `shop` with one probe.
fn pod(handler: &str) -> Pod {
    Pod::new("web")
        .within("shop")
        .container("web")
        .probe("readinessProbe", handler)
}

const HTTP: &str = "httpGet: {path: /ready, port: 8080}";

#[test]
fn ways_in_istio() {
    let injected = || Manifest::namespace("shop").injected().to_string();
    let ambient = Manifest::namespace("shop")
        .labels("istio.io/dataplane-mode: ambient")
        .to_string();
    let strict = || Manifest::peer_authentication("shop", "STRICT").to_string();
    let kept = |handler| {
        pod(handler)
            .annotations("sidecar.istio.io/rewriteAppHTTPProbers: 'false'")
            .to_string()
    };
    for (manifests, options, expected) in [
        (
            vec![injected(), pod(HTTP).to_string()],
            &[][..],
            "kubelet > redirect (bypassed) > agent > application",
        ),
        (
            vec![injected(), strict(), kept(HTTP)],
            &[],
            "kubelet > redirect > Envoy (fault) > application (missed)",
        ),
        (
            vec![injected(), kept(HTTP)],
            &["--assume", "mtls=PERMISSIVE"],
            "kubelet > redirect > Envoy > application",
        ),
        (
            vec![injected(), kept("tcpSocket: {port: 8080}")],
            &[],
            "kubelet > redirect > Envoy (fault) > application (missed)",
        ),
        (
            vec![
                injected(),
                pod(HTTP)
                    .annotations("sidecar.istio.io/rewriteAppHTTPProbers: 'false'")
                    .annotations("traffic.sidecar.istio.io/excludeInboundPorts: '8080'")
                    .to_string(),
            ],
            &[],
            "kubelet > redirect (bypassed) > application",
        ),
        (
            vec![
                injected(),
                pod("httpGet: {path: /, port: 8080, host: 10.0.0.1}").to_string(),
            ],
            &[],
            "kubelet > other target (fault) > agent (missed) > application (missed)",
        ),
        (
            vec![ambient, pod(HTTP).to_string()],
            &[],
            "kubelet > ztunnel (bypassed) > application",
        ),
        (
            vec![injected(), pod("exec: {command: [\"true\"]}").to_string()],
            &[],
            "kubelet > command",
        ),
        (
            vec![injected(), pod("httpGet: {path: /, port: web}").to_string()],
            &["--override", "rewrite=false"],
            "kubelet (fault) > application (missed)",
        ),
        (
            vec![pod(HTTP).to_string()],
            &["--assume", "injection=none"],
            "kubelet > application",
        ),
    ] {
        assert_eq!(way(&manifests, options), expected, "{manifests:?}");
    }
}

#[test]
fn ways_in_other_meshes() {
    let linkerd = Manifest::namespace("shop")
        .annotations("linkerd.io/inject: enabled")
        .to_string();
    let of = |handler| vec![linkerd.clone(), pod(handler).to_string()];
    assert_eq!(
        way(&of(HTTP), &[]),
        "kubelet > sidecar of Linkerd > application"
    );
    let tcp = of("tcpSocket: {port: 8080}");
    assert_eq!(
        way(&tcp, &[]),
        "kubelet > sidecar of Linkerd (fault) > application (missed)"
    );
}
