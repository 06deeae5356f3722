//! The way of a probe from the kubelet to the application, hop by hop, as far as a prediction determines it.

use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::{FaultPlace, Mesh};

use super::cause::{Cause, Outcome};
use super::prediction::{HandlerPrediction, WorkloadPrediction};
use super::vm::MachinePrediction;
use crate::context::Dataplane;

/// The hops so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Way(Vec<Hop>);

impl Way {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds a hop that the request passes.
    pub(super) fn pass(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Passed)
    }

    /// Adds a hop that the request does not pass through.
    pub(super) fn bypass(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Bypassed)
    }

    /// Adds the hop at which the request goes wrong.
    pub(super) fn fail(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Fault)
    }

    /// Adds a hop whose effect is not known. The way ends there.
    pub(super) fn stop(self, kind: HopKind) -> Self {
        self.add(kind, HopState::Unknown)
    }

    /// Adds a hop that the request does not reach.
    pub(super) fn miss(self, kind: HopKind) -> Self {
        self.add(kind, HopState::NotReached)
    }

    /// Sets the detail of the last hop.
    pub(super) fn detail(mut self, detail: Option<String>) -> Self {
        if let (Some(hop), Some(detail)) = (self.0.last_mut(), detail) {
            hop.detail = detail;
        }
        self
    }

    /// Returns whether the request went wrong.
    pub(super) fn is_interrupted(&self) -> bool {
        self.0.iter().any(|hop| hop.state == HopState::Fault)
    }

    pub(super) fn hops(self) -> Vec<Hop> {
        self.0
    }

    fn add(mut self, kind: HopKind, state: HopState) -> Self {
        self.0.push(Hop {
            kind,
            state,
            detail: String::new(),
        });
        self
    }
}

/// What the request of a probe passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HopKind {
    /// The API server, which admits the pod.
    ApiServer,
    /// The webhook of the mesh.
    Webhook,
    /// The kubelet, which runs the probe.
    Kubelet,
    /// The agent on a virtual machine, which runs the check of a `WorkloadGroup`.
    MachineAgent,
    /// A NetworkPolicy.
    NetworkPolicy,
    /// The network plugin of the cluster.
    NetworkPlugin,
    /// ztunnel, in ambient mode.
    Ztunnel,
    /// The redirect of inbound ports to the sidecar.
    Redirect,
    /// The proxy of the mesh in the pod.
    Sidecar,
    /// Istio's agent, which performs rewritten checks.
    Agent,
    /// A helper in the pod that performs checks, for a mesh other than Istio.
    Helper,
    /// The container, in which a command runs.
    Command,
    /// A Service that a command calls.
    Service,
    /// Another host or port than that of the application.
    OtherTarget,
    /// The application.
    Application,
    /// A part that the manifests do not determine.
    NotKnown,
}

/// What happens at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HopState {
    /// The request passes.
    Passed,
    /// The request does not pass through it.
    Bypassed,
    /// The request goes wrong here.
    Fault,
    /// The manifests do not determine what happens.
    Unknown,
    /// The request does not arrive.
    NotReached,
}

/// One hop of a probe's way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// What it is.
    pub kind: HopKind,
    /// What happens there.
    pub state: HopState,
    /// What is known about it, such as "port 8080 is captured"; may be empty.
    pub detail: String,
}

impl HopKind {
    /// Returns the name for people, in a pod of `mesh`.
    #[must_use]
    pub fn title(self, mesh: Option<Mesh>) -> String {
        let is_istio = mesh.is_none_or(|mesh| mesh == Mesh::ISTIO);
        let of_mesh = |noun: &str| match mesh {
            Some(mesh) => format!("{noun} of {}", mesh.title()),
            None => noun.to_owned(),
        };
        let title = match self {
            Self::ApiServer => "API server",
            Self::Webhook => return of_mesh("webhook"),
            Self::Kubelet => "kubelet",
            Self::MachineAgent => "agent of the machine",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::NetworkPlugin => "network plugin",
            Self::Ztunnel => "ztunnel",
            Self::Redirect => "redirect",
            Self::Sidecar if is_istio => "Envoy",
            Self::Sidecar => return of_mesh("sidecar"),
            Self::Agent => "agent",
            Self::Helper => return of_mesh("helper"),
            Self::Command => "command",
            Self::Service => "Service",
            Self::OtherTarget => "other target",
            Self::Application => "application",
            Self::NotKnown => "not known",
        };
        title.to_owned()
    }
}

/// The facts of a prediction that determine the way of its probe. They are small, so a caller can keep them for many
/// probes and derive the hops of some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFacts {
    /// The mesh of the pod.
    pub mesh: Option<Mesh>,
    /// Why the probe has its outcome; `None` for a virtual machine.
    pub(super) cause: Option<Cause>,
    pub(super) outcome: Outcome,
    pub(super) dataplane: Dataplane,
    /// Whether the handler targets the agent, in the manifest or after the rewrite.
    pub(super) targets_agent: bool,
    /// Whether the port that the kubelet targets is captured, if that is known and matters.
    pub(super) captured: Option<bool>,
    pub(super) mtls: Option<MtlsMode>,
    /// The port that the kubelet targets.
    pub(super) port: Option<i64>,
    /// The port of the application.
    pub(super) application_port: Option<i64>,
}

impl RouteFacts {
    /// Returns the facts of a handler.
    #[must_use]
    pub fn of_handler(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Self {
        let captured = match handler.rewritten {
            true => pod.status_port_captured.as_ref(),
            false => handler.captured.as_ref(),
        };
        let rewritten_to = handler.rewritten_to.as_ref();
        Self {
            mesh: pod.mesh.value,
            cause: Some(handler.verdict.cause),
            outcome: handler.verdict.outcome,
            dataplane: pod.dataplane.value,
            targets_agent: handler.rewritten || handler.agent_path().is_some(),
            captured: captured.map(|captured| captured.value),
            mtls: handler.mtls.as_ref().map(|mtls| mtls.value),
            port: rewritten_to.map(|to| to.port).or(handler.port),
            application_port: pod.application_port(handler),
        }
    }

    /// The facts of a check about which nothing is known.
    pub const UNKNOWN: Self = Self {
        mesh: None,
        cause: None,
        outcome: Outcome::Unknown,
        dataplane: Dataplane::Unknown,
        targets_agent: false,
        captured: None,
        mtls: None,
        port: None,
        application_port: None,
    };

    /// Returns the facts of the check of a virtual machine.
    #[must_use]
    pub const fn of_machine(machine: &MachinePrediction<'_>) -> Self {
        Self {
            outcome: machine.outcome,
            ..Self::UNKNOWN
        }
    }

    /// Ends the way at the application, which the request reaches unless it went wrong before.
    pub(super) fn end_at_application(&self, way: Way) -> Way {
        let port = self.application_port;
        let way = match way.is_interrupted() {
            true => way.miss(HopKind::Application),
            false => way.pass(HopKind::Application),
        };
        way.detail(port.map(|port| format!("port {port}")))
    }

    /// Returns whether the port that the kubelet targets is captured, as a text.
    pub(super) fn capture_text(&self) -> Option<String> {
        let port = self.port?;
        Some(match self.captured {
            Some(true) => format!("port {port} is captured"),
            _ => format!("port {port} is not captured"),
        })
    }

    /// Returns the mutual TLS mode of the port, as a text.
    pub(super) fn mtls_text(&self) -> Option<String> {
        let mode = self.mtls?;
        Some(format!("mutual TLS: {}", mode.as_str()))
    }
}

impl RouteFacts {
    /// Returns the hops in the order in which the request passes them. Omits what the prediction does not determine; empty if
    /// nothing sends a request.
    #[must_use]
    pub fn hops(&self) -> Vec<Hop> {
        match self.cause {
            None => self.hops_of_machine(),
            Some(cause) => self.hops_of_handler(cause),
        }
    }

    /// Returns the hops of a check that the agent of a virtual machine performs.
    fn hops_of_machine(&self) -> Vec<Hop> {
        let way = Way::new();
        let way = match self.outcome {
            Outcome::Ok => way.pass(HopKind::MachineAgent).pass(HopKind::Application),
            Outcome::Fails => way.fail(HopKind::MachineAgent).miss(HopKind::Application),
            Outcome::TargetChanged | Outcome::AlwaysPasses => {
                way.pass(HopKind::MachineAgent).fail(HopKind::OtherTarget)
            }
            Outcome::Refused | Outcome::InvalidManifest => {
                way.fail(HopKind::ApiServer).miss(HopKind::MachineAgent)
            }
            Outcome::Unknown => way.pass(HopKind::MachineAgent).stop(HopKind::NotKnown),
            Outcome::NotInMesh => way,
        };
        way.hops()
    }

    fn hops_of_handler(&self, cause: Cause) -> Vec<Hop> {
        let way = Way::new();
        let from_kubelet = || Way::new().pass(HopKind::Kubelet);
        let way = match cause {
            Cause::Malformed | Cause::HostForbidden | Cause::StatusPortZero => {
                way.fail(HopKind::ApiServer).miss(HopKind::Kubelet)
            }
            Cause::PodRefused => way.fail(HopKind::Webhook).miss(HopKind::Kubelet),
            Cause::HookUnsupported | Cause::PathWithoutHost => {
                self.end_at_application(way.fail(HopKind::Kubelet))
            }
            Cause::PortUnresolved | Cause::PortOfOtherContainer if !self.targets_agent => {
                way.fail(HopKind::Kubelet).miss(HopKind::Application)
            }
            Cause::NoNetwork => from_kubelet().pass(HopKind::Command),
            Cause::OutboundAccepted => from_kubelet()
                .pass(HopKind::Command)
                .fail(HopKind::Sidecar)
                .miss(HopKind::Service),
            Cause::NoMesh => self.end_at_application(from_kubelet()),
            Cause::OtherHost => from_kubelet().pass(HopKind::OtherTarget),
            Cause::MissingHandler | Cause::Placeholder | Cause::MeshUnknown => {
                from_kubelet().stop(HopKind::NotKnown)
            }
            Cause::Ambient => self.end_at_application(from_kubelet().bypass(HopKind::Ztunnel)),
            Cause::NetworkPluginDrops => {
                self.end_at_application(from_kubelet().fail(HopKind::NetworkPlugin))
            }
            Cause::NetworkPolicyDenies => self.behind_policy(from_kubelet()),
            Cause::ForwardedByProxy => {
                self.end_at_application(from_kubelet().pass(HopKind::Sidecar))
            }
            Cause::CheckedByHelper => self.end_at_application(from_kubelet().pass(HopKind::Helper)),
            Cause::MeshDecides => from_kubelet().stop(HopKind::Sidecar),
            Cause::Other(fault) => self.at_place(fault.place),
            _ if self.targets_agent => way_to_agent(self, cause),
            _ => way_to_application(self, cause),
        };
        way.hops()
    }

    /// Returns the way of a handler that a mesh other than Istio breaks.
    fn at_place(&self, place: FaultPlace) -> Way {
        let way = Way::new();
        match place {
            FaultPlace::Webhook => way.fail(HopKind::Webhook).miss(HopKind::Kubelet),
            FaultPlace::Host => way.pass(HopKind::Kubelet).fail(HopKind::OtherTarget),
            FaultPlace::Proxy => {
                self.end_at_application(way.pass(HopKind::Kubelet).fail(HopKind::Sidecar))
            }
            FaultPlace::Helper => {
                self.end_at_application(way.pass(HopKind::Kubelet).fail(HopKind::Helper))
            }
        }
    }

    /// Returns the way past a NetworkPolicy that drops the request.
    fn behind_policy(&self, way: Way) -> Way {
        let way = way.fail(HopKind::NetworkPolicy);
        let way = match self.targets_agent {
            true => way.miss(HopKind::Agent),
            false => way,
        };
        self.end_at_application(way)
    }
}

/// Returns the way of a handler that targets the agent, in the manifest or after the rewrite.
fn way_to_agent(facts: &RouteFacts, cause: Cause) -> Way {
    let way = Way::new().pass(HopKind::Kubelet);
    if cause == Cause::HostKept {
        return facts.end_at_application(way.fail(HopKind::OtherTarget).miss(HopKind::Agent));
    }
    let way = captured(facts, cause, way);
    let way = match cause {
        Cause::StatusPortCaptured => way.miss(HopKind::Agent),
        Cause::Rewritten => way.pass(HopKind::Agent),
        _ => way.fail(HopKind::Agent),
    };
    let way = way.detail(facts.port.map(|port| format!("port {port}")));
    facts.end_at_application(way)
}

/// Adds the redirect of the agent's port, as far as it is known.
fn captured(facts: &RouteFacts, cause: Cause, way: Way) -> Way {
    // The capture does not matter without a sidecar.
    if matches!(
        cause,
        Cause::RewrittenWithoutSidecar | Cause::AgentRefusesEnv
    ) {
        return way;
    }
    let Some(is_captured) = facts.captured else {
        return way;
    };
    if !is_captured {
        return way.bypass(HopKind::Redirect).detail(facts.capture_text());
    }
    let way = way.pass(HopKind::Redirect).detail(facts.capture_text());
    let way = match cause {
        Cause::StatusPortCaptured => way.fail(HopKind::Sidecar),
        _ => way.pass(HopKind::Sidecar),
    };
    way.detail(facts.mtls_text())
}

/// Returns the way of a handler that targets the application through the sidecar, or around it.
fn way_to_application(facts: &RouteFacts, cause: Cause) -> Way {
    let way = Way::new().pass(HopKind::Kubelet);
    if cause == Cause::NotCaptured {
        return facts.end_at_application(match facts.dataplane {
            // Such a pod has no redirect.
            Dataplane::Uncaptured => way,
            _ => way.bypass(HopKind::Redirect).detail(facts.capture_text()),
        });
    }
    let way = match facts.captured {
        Some(true) => way.pass(HopKind::Redirect).detail(facts.capture_text()),
        _ => way,
    };
    let mtls = facts.mtls_text();
    match cause {
        Cause::Forwarded => facts.end_at_application(way.pass(HopKind::Sidecar).detail(mtls)),
        Cause::AuthorizationUnknown => way.stop(HopKind::Sidecar).detail(mtls),
        _ => facts.end_at_application(way.fail(HopKind::Sidecar).detail(mtls)),
    }
}
