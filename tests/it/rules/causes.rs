//! Each handler that the mesh spoils is reported by one rule, and by the one its cause has.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::support::fixture;
use meshprobe::context::Context;
use meshprobe::finding::Finding;
use meshprobe::mesh::Version;
use meshprobe::predict::{
    Cause, HandlerPrediction, Outcome, Trouble, WorkloadPrediction, predict_all,
};
use meshprobe::rules::{self, Example};
use meshprobe::settings::Settings;
use meshprobe::source::{SourceFile, SourceSet};

/// The rules that may report a handler whose verdict has this cause; without a wildcard, so that a
/// new cause needs its line.
const fn rules_of(cause: Cause) -> &'static [&'static str] {
    match cause {
        Cause::NetworkPolicyDenies => &[
            "ambient-netpol-blocks-probes",
            "netpol-ipblock-misses-status-port",
        ],
        Cause::PlaintextAtStrict => &[
            "strict-probe-not-rewritten",
            "lifecycle-hook-strict",
            "rewrite-off-before-1-6",
            "grpc-probe-needs-1-13",
            "init-probe-needs-1-19",
        ],
        Cause::HttpsAtStrict => &[
            "https-probe-strict",
            "lifecycle-hook-strict",
            "rewrite-off-before-1-6",
            "init-probe-needs-1-19",
        ],
        Cause::SidecarAccepts => &[
            "tcp-probe-always-passes",
            "tcp-probe-needs-1-12",
            "kuma-tcp-grpc-needs-2-9",
            "consul-probe-not-rewritten",
            "osm-tcp-probe-accepted",
            "linkerd-tcp-probe-always-true",
            "appmesh-tcp-probe-always-true",
            "init-probe-needs-1-19",
        ],
        Cause::HttpsAtHttpPort => &["https-probe-on-http-service-port", "init-probe-needs-1-19"],
        Cause::GrpcAtHttp1Port => &[
            "grpc-probe-on-http1-service-port",
            "grpc-probe-needs-1-13",
            "init-probe-needs-1-19",
        ],
        Cause::HttpAtHttp2Port => &["http-probe-on-http2-service-port", "init-probe-needs-1-19"],
        Cause::AuthorizationDenies | Cause::AuthorizationCloses => &[
            "authz-blocks-probe",
            "authz-deny-unauthenticated",
            "authz-http-rule-on-tcp-port",
        ],
        Cause::HostKept => &["http-probe-host-rewritten", "lifecycle-hook-host-rewritten"],
        Cause::HostDropped => &["tcp-probe-host-dropped"],
        Cause::PortUnresolved => &["named-port-unresolved"],
        Cause::PortOfOtherContainer => &["probe-port-of-other-container"],
        Cause::PortQuoted => &["probe-port-quoted-number"],
        Cause::PortOfAgent => &["app-probe-on-status-port"],
        Cause::PathMisread => &["probe-path-not-a-path"],
        Cause::AgentTimeoutZero => &["probe-timeout-missing-in-env"],
        Cause::BeforeSidecar => &["native-sidecar-startup-deadlock"],
        Cause::OutboundAccepted => &["exec-tcp-through-service"],
        Cause::RewrittenWithoutSidecar => &["rewritten-without-sidecar"],
        Cause::RewrittenWithoutEntry => &["manual-probers-env", "rewritten-without-entry"],
        Cause::EntryReplaced => &["manual-probers-env"],
        Cause::EntryDropped => &["probers-lost-on-reinjection"],
        Cause::AgentRefusesEnv => &["probers-env-invalid", "lifecycle-key-needs-1-25"],
        Cause::RewrittenOtherPort | Cause::HttpsAtAgent => &["rewritten-status-port-differs"],
        Cause::AgentCallsItself => &["prerewritten-custom-port-recursion"],
        Cause::StatusPortMismatch => &[
            "status-port-mesh-mismatch",
            "status-port-per-pod-proxyconfig",
        ],
        Cause::StatusPortCaptured => &["status-port-in-include-list", "status-port-mesh-mismatch"],
        Cause::StatusPortZero => &["status-port-zero"],
        Cause::Malformed | Cause::HookUnsupported => &[
            "probe-field-invalid",
            "probe-two-handlers",
            "probe-port-out-of-range",
            "container-name-invalid",
            "yaml11-header-value",
        ],
        Cause::Other(trouble) => rules_of_trouble(trouble),
        Cause::Fine
        | Cause::NoNetwork
        | Cause::NoMesh
        | Cause::PodRefused
        | Cause::Ambient
        | Cause::Rewritten
        | Cause::NotCaptured
        | Cause::PassedOn
        | Cause::Helped
        | Cause::OtherHost
        | Cause::AuthorizationUnknown
        | Cause::Placeholder
        | Cause::MeshUnknown
        | Cause::MeshDecides => &[],
    }
}

/// The same for what a mesh beside Istio does.
const fn rules_of_trouble(trouble: Trouble) -> &'static [&'static str] {
    match trouble {
        Trouble::AnsweredByOther | Trouble::ListenerTaken | Trouble::HelperTaken => {
            &["osm-probe-collision"]
        }
        Trouble::TlsAnsweredByOther | Trouble::TlsMixed => &["osm-https-collision"],
        Trouble::GrpcAtMtls => &[
            "osm-grpc-probe",
            "kuma-tcp-grpc-needs-2-9",
            "consul-probe-not-rewritten",
        ],
        Trouble::HookAtMtls => &["osm-lifecycle-http", "consul-probe-not-rewritten"],
        Trouble::PlainAtMtls => &["consul-probe-not-rewritten"],
        Trouble::NameOfOther => &["consul-port-name-shared"],
        Trouble::HostLost => &["osm-tcp-host-lost"],
        Trouble::HostKept => &["osm-http-host", "http-probe-host-rewritten"],
        Trouble::PortOfProxy => &["osm-probe-port-in-use", "consul-reserved-ports"],
        Trouble::AsksItself | Trouble::WithoutProxy => &["osm-already-rewritten"],
        Trouble::NotChanged => &["osm-probe-not-changed"],
        Trouble::NoListener | Trouble::NoHelper => &["osm-probe-without-endpoint"],
        Trouble::NeverStarts => &["osm-native-sidecar-dropped"],
        Trouble::PlainListener => &["https-probe-plain-listener"],
        Trouble::HostHeaderLost => &["kuma-host-header-lost"],
        Trouble::HttpHostLost => &["kuma-http-host-lost"],
        Trouble::AgentOff => &["kuma-gateway-annotation-false"],
        Trouble::PodRefused => &["kuma-reserved-port"],
        Trouble::SidecarLeft => &["kuma-native-sidecar-order"],
        Trouble::QueryInPath => &["consul-expose-query"],
        Trouble::RouteHidesProbe => &["linkerd-route-hides-probe"],
        Trouble::GrpcDenied => &["linkerd-grpc-probe-denied"],
        Trouble::HookDenied => &["linkerd-hook-denied"],
        Trouble::NoProbeRoute => &["linkerd-https-probe-denied"],
        Trouble::PathWithoutSlash => &["linkerd-path-without-slash"],
        Trouble::PortUndeclared => &["linkerd-startup-port-undeclared"],
        Trouble::PlainAtStrict => &["appmesh-strict-probe"],
    }
}

/// The trees: measured workloads under every policy, and each file of the rules.
fn trees() -> Vec<Vec<PathBuf>> {
    let mut trees = Vec::new();
    for policy in fs::read_dir(fixture("live/policies")).unwrap() {
        for workloads in ["live/workloads.off.yaml", "live/workloads.on.yaml"] {
            let policy = policy.as_ref().unwrap().path();
            trees.push(vec![fixture("live/base.yaml"), fixture(workloads), policy]);
        }
    }
    for rule in fs::read_dir(fixture("rules")).unwrap() {
        // A folder below is a tree that kustomize renders: `rules/findings.rs` checks those.
        let files = fs::read_dir(rule.unwrap().path())
            .unwrap()
            .map(|file| file.unwrap().path());
        trees.extend(files.filter(|file| file.is_file()).map(|file| vec![file]));
    }
    trees
}

/// Returns the release that the first line of a file names, as in `# meshprobe check --mesh-version 1.30.0`.
fn release(tree: &[PathBuf]) -> Option<Version> {
    let text = fs::read_to_string(tree.first()?).unwrap();
    let arguments = Example::arguments_of(&text);
    let option = arguments.iter().position(|one| one == "--mesh-version")?;
    arguments.get(option + 1)?.parse().ok()
}

/// What is wrong with the findings of a tree, and how many handlers are spoiled.
fn judge(tree: &[PathBuf]) -> (Vec<String>, usize) {
    let files = tree.iter().map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(fixture("")).unwrap().to_string_lossy();
        SourceFile::new(Arc::from(name), Arc::from(text))
    });
    let sources = SourceSet::new(files.collect());
    let settings = Settings {
        mesh_version: release(tree),
        ..Settings::default()
    };
    let context = Context::new(&sources, &[], &settings);
    let predictions = predict_all(&context);
    let findings = rules::check(&context, &predictions);
    let mut wrong = Vec::new();
    let mut spoiled = 0;
    for pod in &predictions {
        for handler in &pod.handlers {
            let said: Vec<&Finding> = findings
                .iter()
                .filter(|finding| speaks_of(finding, pod, handler))
                .collect();
            let title = format!("{} {}", pod.workload.title(), handler.title());
            let rules: Vec<&str> = said.iter().map(|finding| finding.rule).collect();
            let verdict = &handler.verdict;
            let wanted = rules_of(verdict.cause);
            let is_fault = verdict.outcome.is_bad()
                || verdict.outcome == Outcome::BrokenWithoutMesh
                    && matches!(
                        verdict.cause,
                        Cause::PortUnresolved | Cause::PortOfOtherContainer
                    );
            spoiled += usize::from(is_fault);
            let fits = match (is_fault, rules.as_slice()) {
                (false, []) => true,
                (true, [rule]) => wanted.contains(rule),
                _ => false,
            };
            if !fits && verdict.outcome != Outcome::BrokenWithoutMesh {
                wrong.push(format!("{tree:?} {title}: {:?} {rules:?}", verdict.cause));
            }
        }
    }
    (wrong, spoiled)
}

/// A finding about this handler that says what the mesh does to it.
fn speaks_of(
    finding: &Finding,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> bool {
    let object = &pod.workload.object;
    let within = handler.handler.within.to_string();
    let here = |field: &String| *field == within || field.starts_with(&format!("{within}."));
    let bad = ["fails", "always-passes", "target-changed"];
    finding.primary.path == *object.path()
        && finding.document == object.document.index
        && finding.object.as_ref() == Some(&object.reference())
        && finding.field.as_ref().is_some_and(here)
        && finding
            .outcome
            .is_some_and(|outcome| bad.contains(&outcome))
}

#[test]
fn a_handler_is_reported_if_and_only_if_the_mesh_spoils_it() {
    let mut all = Vec::new();
    let (mut measured, mut others) = (0, 0);
    for tree in trees() {
        let (wrong, spoiled) = judge(&tree);
        all.extend(wrong);
        let is_measured = tree.iter().all(|path| path.starts_with(fixture("live")));
        *(if is_measured {
            &mut measured
        } else {
            &mut others
        }) += spoiled;
    }
    assert!(all.is_empty(), "{} wrong:\n{}", all.len(), all.join("\n"));
    assert_eq!(measured, 283, "handlers of the measured workloads");
    assert!(others > 60, "{others} handlers of the fixtures");
}

#[test]
fn the_table_names_rules_of_the_catalogue() {
    let names: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    for cause in [
        Cause::Malformed,
        Cause::PlaintextAtStrict,
        Cause::StatusPortCaptured,
    ] {
        for rule in rules_of(cause) {
            assert!(names.contains(rule), "{rule}");
        }
    }
}
