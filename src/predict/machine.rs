//! The check of a virtual machine: what the agent makes of `WorkloadGroup.spec.probe`.
//!
//! Source: `pkg/istio-agent/health` and `pkg/config/validation/validation.go` of Istio; see
//! `mesh::istio::vm`.

use core::net::IpAddr;

use crate::context::Context;
use crate::finding::Certainty;
use crate::kube::{Object, integer};
use crate::mesh::istio::vm::{self, FaultKind, Method};
use crate::mesh::{Fact, Reason};
use crate::settings::MeshKind;
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::Outcome;

/// A `WorkloadGroup` with a check, and what becomes of that.
#[derive(Clone, Debug)]
pub struct MachinePrediction<'t> {
    /// The group.
    pub group: Object<'t>,
    /// Its namespace, where one is written.
    pub namespace: Option<String>,
    /// `spec.probe`.
    pub probe: Entry<'t>,
    /// What is written: `http :8080/healthz`.
    pub written: String,
    /// `httpGet`, of several handlers the one that counts; empty where there is none.
    pub kind: &'static str,
    /// What the agent meets.
    pub outcome: Outcome,
    /// The outcome in a few words.
    pub why: &'static str,
    /// How sure the outcome is.
    pub certainty: Certainty,
    /// What decided.
    pub because: Vec<Reason>,
}

/// Predicts the checks of all groups that are to be reported on, in the order of the tree.
#[must_use]
pub fn machines<'t>(context: &Context<'t>) -> Vec<MachinePrediction<'t>> {
    let groups = context.inventory.workload_groups.iter();
    let targets = groups.filter(|group| context.is_target(group));
    targets
        .filter_map(|group| machine(context, group))
        .collect()
}

fn machine<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<MachinePrediction<'t>> {
    let probe = group.node.get("spec")?.entry("probe")?;
    if probe.value.is_null() {
        return None;
    }
    let kept = vm::kept(probe.value);
    let judged = judge(context, group, probe.value);
    let (namespace, is_written) = context.namespace_of(group);
    Some(MachinePrediction {
        group: group.clone(),
        namespace: is_written.then(|| namespace.to_owned()),
        probe,
        written: kept.map_or_else(|| "nothing".to_owned(), |one| written(&one)),
        kind: kept.map_or("", |(method, _)| method.key()),
        outcome: judged.outcome,
        why: judged.why,
        certainty: judged.certainty,
        because: judged.because,
    })
}

struct Judged {
    outcome: Outcome,
    why: &'static str,
    certainty: Certainty,
    because: Vec<Reason>,
}

impl Judged {
    const fn new(outcome: Outcome, why: &'static str) -> Self {
        Self {
            outcome,
            why,
            certainty: Certainty::Known,
            because: Vec::new(),
        }
    }

    fn resting_on<T>(mut self, fact: &Fact<T>) -> Self {
        self.certainty = self.certainty.min(fact.certainty);
        self.because.extend(fact.because.iter().cloned());
        self
    }
}

fn judge<'t>(context: &Context<'t>, group: &Object<'t>, probe: NodeRef<'t>) -> Judged {
    if context.settings.mesh == MeshKind::None {
        return Judged::new(Outcome::NotInMesh, "not in a mesh");
    }
    let faults = vm::faults(group).into_iter();
    let mut grave = faults.filter(|one| !matches!(one.kind, FaultKind::UnknownField(_)));
    if let Some(fault) = grave.next() {
        let said = fault.kind.describe();
        let place = Reason::written(group.label_at(fault.span, said));
        let judged = Judged::new(
            Outcome::BrokenWithoutMesh,
            "the API server or istiod refuses it",
        );
        return Judged {
            because: vec![place],
            ..judged
        };
    }
    if vm::open_value(probe).is_some() {
        return Judged {
            certainty: Certainty::Unknown,
            ..Judged::new(Outcome::Unknown, "a value is filled in by another tool")
        };
    }
    if let Some(host) = other_host(context, group) {
        let said = "every machine of the group asks this host";
        let place = Reason::written(group.label_at(host.span(), said));
        let judged = Judged::new(
            Outcome::TargetChanged,
            "asks a host that is not the machine",
        );
        return Judged {
            because: vec![place],
            ..judged
        };
    }
    if let Some(own) = own_port(context, group) {
        let judged = Judged::new(
            Outcome::TargetChanged,
            "asks the sidecar, not the application",
        );
        return judged.resting_on(&own.port);
    }
    match verified(context, group) {
        Some(fact) => {
            Judged::new(Outcome::Fails, "the agent verifies the certificate").resting_on(&fact)
        }
        None => Judged::new(Outcome::Ok, "the agent of the machine makes the check"),
    }
}

fn probe_of<'t>(group: &Object<'t>) -> Option<NodeRef<'t>> {
    group.node.get("spec")?.get("probe")
}

/// Returns the host that the machines of a group ask, where it is not the machine itself as far as the tree
/// shows: neither a loopback address nor the address of one of its entries.
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

/// The machine may be in the tree, with its address.
fn is_address<'t>(context: &Context<'t>, group: &Object<'t>, host: &str) -> bool {
    let address = |node: Option<NodeRef<'t>>| node?.get("address")?.text();
    let spec = group.node.get("spec");
    let own = spec.and_then(|spec| spec.get("template"));
    let mut entries = context.machines_of(group);
    address(own) == Some(host) || entries.any(|entry| address(entry.node.get("spec")) == Some(host))
}

/// A check that asks the sidecar of the machine.
#[derive(Clone, Debug)]
pub struct OwnPort<'t> {
    /// The port, as it is written.
    pub place: NodeRef<'t>,
    /// Its number, with what says that it is the sidecar's.
    pub port: Fact<i64>,
    /// What the sidecar uses it for.
    pub owner: &'static str,
}

/// Tells whether the check of a group asks a port of the sidecar.
#[must_use]
pub fn own_port<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<OwnPort<'t>> {
    let (_, entry) = vm::kept(probe_of(group)?)?;
    let place = entry.value.get("port")?;
    let number = integer(place)?;
    let agent = context.machine_status_port(group);
    let owner = vm::own_port(number, agent.value)?;
    let port = if number == agent.value {
        agent
    } else {
        Fact::known(
            number,
            group.label_at(place.span(), "a port of the sidecar"),
        )
    };
    Some(OwnPort { place, port, owner })
}

/// Returns whether the agents of a group verify the certificate of its check, unless they do not or
/// it has none: what they make of it is assumed, since the tree does not hold it.
#[must_use]
pub fn verified<'t>(context: &Context<'t>, group: &Object<'t>) -> Option<Fact<()>> {
    let (method, entry) = vm::kept(probe_of(group)?)?;
    let scheme = entry.value.get("scheme")?;
    if method != Method::HttpGet || scheme.text() != Some("HTTPS") {
        return None;
    }
    let release = context.version_near(group);
    if release.is_some_and(|release| release < vm::HTTPS_VERIFIED_SINCE) {
        return None;
    }
    let said = "the machine is taken not to trust the certificate";
    let fact = Fact::assumed((), said, None);
    Some(match release {
        Some(_) => fact,
        None => fact.resting_on(&unknown_release()),
    })
}

/// The fact that the tree names no release of Istio.
#[must_use]
pub fn unknown_release() -> Fact<()> {
    let said = "the release of Istio is not in the tree: taken as the latest";
    Fact::assumed((), said, Some("--mesh-version 1.N"))
}

fn written((method, entry): &(Method, Entry<'_>)) -> String {
    let field = |key: &str| {
        let text = entry.value.get(key).and_then(NodeRef::text);
        text.unwrap_or_default()
    };
    match method {
        Method::HttpGet => {
            let scheme = match field("scheme") {
                "" => "http".to_owned(),
                scheme => scheme.to_ascii_lowercase(),
            };
            let path = match field("path") {
                "" => "/",
                path => path,
            };
            format!("{scheme} {}:{}{path}", field("host"), field("port"))
        }
        Method::TcpSocket => format!("tcp {}:{}", field("host"), field("port")),
        Method::Grpc => format!("grpc :{} {}", field("port"), field("service"))
            .trim_end()
            .to_owned(),
        Method::Exec => "exec".to_owned(),
    }
}
