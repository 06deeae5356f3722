//! Predicts the check of virtual machines, which the agent performs as `WorkloadGroup.spec.probe` states.
//!
//! Source: `pkg/istio-agent/health` and `pkg/config/validation/validation.go` of Istio; see
//! `mesh::istio::vm`.

use core::net::IpAddr;

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{Object, integer};
use meshprobe_mesh::mesh::istio::vm::{self, Method};
use meshprobe_mesh::mesh::{Fact, Reason};
use meshprobe_mesh::settings::MeshKind;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::cause::Outcome;
use super::prediction::{grpc_text, http_text, port_node_text, tcp_text};
use crate::context::Context;

/// The prediction for the check of a `WorkloadGroup`.
#[derive(Clone, Debug)]
pub struct MachinePrediction<'t> {
    /// The group.
    pub group: Object<'t>,
    /// Its namespace, if one is written.
    pub namespace: Option<String>,
    /// `spec.probe`.
    pub probe: Entry<'t>,
    /// The check as written: `http :8080/healthz`.
    pub written: String,
    /// The kind of the check, such as `httpGet`; of several, the one that the API server keeps. Empty if
    /// there is none.
    pub kind: &'static str,
    /// The result of the agent's check.
    pub outcome: Outcome,
    /// The outcome in a few words.
    pub why: &'static str,
    /// The certainty of the outcome.
    pub certainty: Certainty,
    /// The facts that decided.
    pub because: Vec<Reason>,
}

/// Predicts the checks of all groups that are targets, in the order of the tree.
#[must_use]
pub fn machines<'t>(context: &Context<'t>) -> Vec<MachinePrediction<'t>> {
    context
        .inventory
        .workload_groups
        .iter()
        .filter(|group| context.origin_of(group).is_target())
        .filter_map(|group| machine(context, group))
        .collect()
}

fn machine<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<MachinePrediction<'t>> {
    let probe = group.node.get("spec")?.set_entry("probe")?;
    let kept = vm::kept(probe.value);
    let (outcome, why, fact) = decide(context, group, probe.value);
    Some(MachinePrediction {
        group: group.clone(),
        namespace: context
            .namespace_of(group)
            .written_name()
            .map(str::to_owned),
        probe,
        written: kept.map_or_else(|| "nothing".to_owned(), |check| written(&check)),
        kind: kept.map_or("", |(method, _)| method.key()),
        outcome,
        why,
        certainty: fact.certainty,
        because: fact.because,
    })
}

/// Returns the outcome, the outcome in a few words, and the fact that decides.
fn decide<'t>(
    context: &Context<'t>,
    group: &Object<'t>,
    probe: NodeRef<'t>,
) -> (Outcome, &'static str, Fact<()>) {
    let without_reason = |certainty| Fact {
        value: (),
        certainty,
        because: Vec::new(),
    };
    let written = |span, message: &str| Fact::known((), group.label_at(span, message));
    if context.settings.mesh == MeshKind::None {
        let fact = without_reason(Certainty::Known);
        return (Outcome::NotInMesh, "not in a mesh", fact);
    }
    let faults = vm::find_faults(group);
    let mut grave = faults.iter().filter(|fault| fault.kind.is_refused());
    if let Some(fault) = grave.next() {
        let why = "the API server or istiod refuses it";
        let fact = written(fault.span, fault.kind.summary());
        return (Outcome::Refused, why, fact);
    }
    if vm::placeholder_value(probe).is_some() {
        let fact = without_reason(Certainty::Unknown);
        return (Outcome::Unknown, "a value is a placeholder", fact);
    }
    if let Some(host) = other_host(context, group) {
        let why = "targets a host other than the machine";
        let message = "every machine of the group sends the check to this host";
        return (Outcome::TargetChanged, why, written(host.span(), message));
    }
    if let Some(own) = sidecar_port(context, group) {
        let why = "targets the sidecar, not the application";
        return (Outcome::TargetChanged, why, own.port.map(|_| ()));
    }
    match verified(context, group) {
        Some(fact) => (Outcome::Fails, "the agent verifies the certificate", fact),
        None => {
            let fact = without_reason(Certainty::Known);
            (
                Outcome::Ok,
                "the agent of the machine performs the check",
                fact,
            )
        }
    }
}

fn probe_of<'t>(group: &Object<'t>) -> Option<NodeRef<'t>> {
    group.node.get("spec")?.get("probe")
}

/// Returns the host that the machines of a group check, if it is not the machine itself: neither a
/// loopback address nor the address of one of its entries in the tree.
#[must_use]
pub fn other_host<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<NodeRef<'t>> {
    let (_, entry) = vm::kept(probe_of(group)?)?;
    let host = entry.value.get("host")?;
    let name = host.text().filter(|text| !text.is_empty())?;
    let is_own = is_loopback(name) || is_address(context, group, name);
    (!is_own && !placeholder::contains(name)).then_some(host)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

/// Returns whether `host` is the address of a machine of the group that is in the tree.
fn is_address<'t>(context: &Context<'t>, group: &Object<'t>, host: &str) -> bool {
    let address = |node: Option<NodeRef<'t>>| node?.get("address")?.text();
    let spec = group.node.get("spec");
    let own = spec.and_then(|spec| spec.get("template"));
    let mut entries = context.virtual_machines(group).entries();
    address(own) == Some(host) || entries.any(|entry| address(entry.node.get("spec")) == Some(host))
}

/// A check that targets the sidecar of the machine.
#[derive(Clone, Debug)]
pub struct SidecarPort<'t> {
    /// The port, as it is written.
    pub place: NodeRef<'t>,
    /// Its number, with the reason why it is the sidecar's.
    pub port: Fact<i64>,
    /// What the sidecar uses it for.
    pub owner: &'static str,
}

/// Returns the port of the sidecar that the check of a group targets; `None` if it targets another.
#[must_use]
pub fn sidecar_port<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<SidecarPort<'t>> {
    let (_, entry) = vm::kept(probe_of(group)?)?;
    let place = entry.value.get("port")?;
    let number = integer(place)?;
    let agent = context.virtual_machines(group).status_port();
    let owner = vm::own_port(number, agent.value)?;
    let port = if number == agent.value {
        agent
    } else {
        Fact::known(
            number,
            group.label_at(place.span(), "a port of the sidecar"),
        )
    };
    Some(SidecarPort { place, port, owner })
}

/// Returns the assumption that the certificate of a check fails verification; `None` if the check does
/// not use HTTPS or the agent does not verify certificates. The tree does not contain the certificate.
#[must_use]
pub fn verified<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<Fact<()>> {
    let (method, entry) = vm::kept(probe_of(group)?)?;
    let scheme = entry.value.get("scheme")?;
    if method != Method::HttpGet || scheme.text() != Some("HTTPS") {
        return None;
    }
    let release = context.istio_near(group).version();
    if release.is_some_and(|release| release < vm::HTTPS_VERIFIED_SINCE) {
        return None;
    }
    let message = "the machine does not trust the certificate";
    let fact = Fact::assumed((), message, None);
    Some(match release {
        Some(_) => fact,
        None => fact.depending_on(&unknown_release()),
    })
}

/// Returns the assumption that Istio is the latest release, for a tree that does not state it.
#[must_use]
pub fn unknown_release() -> Fact<()> {
    let message = "the tree does not state the release of Istio; the latest is assumed";
    Fact::assumed((), message, Some("--mesh-version 1.N"))
}

fn written((method, entry): &(Method, Entry<'_>)) -> String {
    let field = |key: &str| {
        let text = entry.value.get(key).and_then(NodeRef::text);
        text.unwrap_or_default()
    };
    let field_or = |key: &str, default: &'static str| match field(key) {
        "" => default,
        text => text,
    };
    let port = entry
        .value
        .get("port")
        .map(port_node_text)
        .unwrap_or_default();
    match method {
        Method::HttpGet => http_text(
            field_or("scheme", "http"),
            field("host"),
            &port,
            field_or("path", "/"),
        ),
        Method::TcpSocket => tcp_text(field("host"), &port),
        Method::Grpc => grpc_text(&port, field("service")),
        Method::Exec => "exec".to_owned(),
    }
}
