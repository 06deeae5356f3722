//! Each handler that fails because of the mesh is reported by exactly one rule, which belongs to its cause.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::support::fixture;
use crate::support::rust_code::{imported_paths, rust_files};
use meshprobe::context::Context;
use meshprobe::finding::Finding;
use meshprobe::mesh::{self, Version};
use meshprobe::predict::{Cause, HandlerPrediction, ProbeFault, WorkloadPrediction, predict_all};
use meshprobe::rules::{self, Example};
use meshprobe::settings::Settings;
use meshprobe::source::{SourceFile, SourceSet};

/// Returns the rules that may report a handler whose verdict has this cause; without a wildcard, so that a
/// new cause needs its line.
fn rules_of(cause: Cause) -> &'static [&'static str] {
    match cause {
        Cause::NetworkPolicyDenies => &[
            "ambient-netpol-blocks-probes",
            "netpol-ipblock-misses-status-port",
        ],
        Cause::NetworkPluginDrops => &["ambient-plugin-drops-probes"],
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
        Cause::HostHeaderDropped => &["host-header-dropped"],
        Cause::PortUnresolved => &["named-port-unresolved"],
        Cause::PortOfOtherContainer => &["probe-port-of-other-container"],
        Cause::PortQuoted => &["probe-port-quoted-number"],
        Cause::PortOfAgent => &["app-probe-on-status-port"],
        Cause::PathMisread | Cause::PathWithoutHost => &["probe-path-not-a-path"],
        Cause::ProtocolUnsupported => &["probe-protocol-unsupported"],
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
        Cause::HostForbidden => &["pod-security-forbids-host"],
        Cause::Other(fault) => rules_of_fault(fault),
        Cause::Forwarded
        | Cause::NoNetwork
        | Cause::NoMesh
        | Cause::PodRefused
        | Cause::Ambient
        | Cause::Rewritten
        | Cause::NotCaptured
        | Cause::ForwardedByProxy
        | Cause::CheckedByHelper
        | Cause::OtherHost
        | Cause::AuthorizationUnknown
        | Cause::MissingHandler
        | Cause::Placeholder
        | Cause::MeshUnknown
        | Cause::MeshDecides => &[],
    }
}

/// Returns whether the rule of another mesh than Istio reports a cause that meshes share: its code mentions the cause.
fn is_reported_by_mesh(cause: Cause, rule: &str) -> bool {
    let name = format!("Cause::{cause:?}");
    source_of(rule).is_some_and(|source| source.is_of_mesh && has_word(&source.code, &name))
}

/// Returns the rules that report a fault of a mesh other than Istio: those whose code mentions it.
fn rules_of_fault(fault: &ProbeFault) -> &'static [&'static str] {
    static RULES: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let sources: Vec<(&str, RuleSource)> = rules::all()
            .iter()
            .filter_map(|rule| Some((rule.id.as_str(), source_of(rule.id.as_str())?)))
            .collect();
        mesh::faults()
            .map(|fault| (fault.id, rules_that_mention(fault, &sources)))
            .collect()
    });
    RULES.get(fault.id).map_or(&[], Vec::as_slice)
}

fn rules_that_mention(
    fault: &ProbeFault,
    sources: &[(&'static str, RuleSource)],
) -> Vec<&'static str> {
    let (path, name) = fault.id.rsplit_once("::").unwrap();
    let (file, module) = path.rsplit_once("::").unwrap();
    let mention = format!("{module}::{name}");
    // The folder of a mesh exports what a file in it contains.
    let exported = format!("{}::{module}", file.rsplit_once("::").unwrap().0);
    sources
        .iter()
        .filter(|(_, source)| {
            let mut imports = source.imports.iter();
            imports.any(|import| *import == path || *import == exported)
                && has_word(&source.code, &mention)
        })
        .map(|(rule, _)| *rule)
        .collect()
}

/// Returns whether `code` contains `word`, and not as part of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let rest = code.get(at + word.len()..).unwrap();
        let before = code.get(..at).unwrap();
        !rest.starts_with(is_part) && !before.ends_with(is_part)
    })
}

/// The code of a rule.
struct RuleSource {
    /// The row of the rule in the table of its file, and the items of the file that it uses.
    code: String,
    /// The paths that the file imports.
    imports: Vec<String>,
    /// Whether the file contains the rules about another mesh than Istio.
    is_of_mesh: bool,
}

/// Returns the code of a rule; the engine reports those without a row in a file of their subject.
fn source_of(rule: &str) -> Option<RuleSource> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/rules/src/rules");
    let start = format!(" = \"{rule}\", ");
    rust_files(&root).into_iter().find_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let (_, rest) = text.split_once(&start)?;
        let mut lines = rest.split("\n}\n").next().unwrap().split("\n    ");
        let first = lines.next().unwrap();
        let row = lines.take_while(|line| line.starts_with(' '));
        let mut code: String = std::iter::once(first).chain(row).collect();
        let mut items: Vec<(&str, &str)> = text.split("\n\n").filter_map(named_item).collect();
        while let Some(used) = items.iter().position(|(name, _)| has_word(&code, name)) {
            code.push_str(items.swap_remove(used).1);
        }
        Some(RuleSource {
            code,
            imports: imported_paths(&text),
            is_of_mesh: path.components().any(|part| part.as_os_str() == "mesh"),
        })
    })
}

/// Returns the name and the code of an item; `None` for a part of one.
fn named_item(text: &str) -> Option<(&str, &str)> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:(?:///|#).*\n)*(?:pub\S* )?(?:const fn|const|fn|static) (?-u:(\w+))")
            .unwrap()
    });
    let (_, [name]) = ITEM.captures(text)?.extract();
    Some((name, text))
}

/// Returns the trees: the measured workloads under every policy, and each fixture file of the rules.
fn trees() -> Vec<Vec<PathBuf>> {
    let mut trees = Vec::new();
    for policy in fs::read_dir(fixture("live/policies")).unwrap() {
        for workloads in ["live/workloads.off.yaml", "live/workloads.on.yaml"] {
            let policy = policy.as_ref().unwrap().path();
            trees.push(vec![fixture("live/base.yaml"), fixture(workloads), policy]);
        }
    }
    for rule in fs::read_dir(fixture("rules")).unwrap() {
        // A folder is a tree that kustomize renders; `rules/findings.rs` checks those.
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
    let option = arguments
        .iter()
        .position(|argument| argument == "--mesh-version")?;
    arguments.get(option + 1)?.parse().ok()
}

/// Returns the handlers of a tree that have wrong findings, and the number of faulty handlers.
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
    let mut faulty = 0;
    for pod in &predictions {
        for handler in &pod.handlers {
            let about_handler: Vec<&Finding> = findings
                .iter()
                .filter(|finding| is_about(finding, pod, handler))
                .collect();
            let title = format!("{} {}", pod.workload.title(), handler.title());
            let rules: Vec<&str> = about_handler
                .iter()
                .map(|finding| finding.rule.as_str())
                .collect();
            let verdict = &handler.verdict;
            let wanted = rules_of(verdict.cause);
            let is_fault = verdict.outcome.is_bad()
                || verdict.outcome.is_invalid()
                    && matches!(
                        verdict.cause,
                        Cause::PortUnresolved | Cause::PortOfOtherContainer
                    );
            faulty += usize::from(is_fault);
            let fits = match (is_fault, rules.as_slice()) {
                (false, []) => true,
                (true, [rule]) => wanted.contains(rule) || is_reported_by_mesh(verdict.cause, rule),
                _ => false,
            };
            if !fits && !verdict.outcome.is_invalid() {
                wrong.push(format!("{tree:?} {title}: {:?} {rules:?}", verdict.cause));
            }
        }
    }
    (wrong, faulty)
}

/// Returns whether a finding reports the effect of the mesh on this handler.
fn is_about(
    finding: &Finding,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> bool {
    let object = &pod.workload.object;
    let within = handler.handler.within.to_string();
    let is_within = |field: &String| *field == within || field.starts_with(&format!("{within}."));
    let bad = ["fails", "always-passes", "target-changed"];
    finding.primary.path == *object.path()
        && finding.document == object.document.index
        && finding.object.as_ref() == Some(&object.reference())
        && finding.field.as_ref().is_some_and(is_within)
        && finding
            .outcome
            .is_some_and(|outcome| bad.contains(&outcome))
}

#[test]
fn a_handler_is_reported_if_and_only_if_the_mesh_breaks_it() {
    let mut all = Vec::new();
    let (mut measured, mut others) = (0, 0);
    for tree in trees() {
        let (wrong, faulty) = judge(&tree);
        all.extend(wrong);
        let is_measured = tree.iter().all(|path| path.starts_with(fixture("live")));
        *(if is_measured {
            &mut measured
        } else {
            &mut others
        }) += faulty;
    }
    assert!(all.is_empty(), "{} wrong:\n{}", all.len(), all.join("\n"));
    assert_eq!(measured, 283, "handlers of the measured workloads");
    assert!(others > 60, "{others} handlers of the fixtures");
}

#[test]
fn the_table_contains_only_existing_rules() {
    let names: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id.as_str()).collect();
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

/// A mesh adds its faults in its own folder; each needs a rule.
#[test]
fn every_fault_of_a_mesh_has_a_rule() {
    let faults: Vec<&ProbeFault> = mesh::faults().collect();
    let ids: BTreeSet<&str> = faults.iter().map(|fault| fault.id).collect();
    assert_eq!(ids.len(), faults.len(), "two faults with one id");
    assert!(faults.len() >= 32, "{} faults", faults.len());
    for fault in faults {
        let rules = rules_of_fault(fault);
        assert!(!rules.is_empty(), "no rule mentions {}", fault.id);
    }
}
