//! The facts that determine the way of a probe.

use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;

use super::hop::HopKind;
use super::way::Way;
use crate::context::Dataplane;
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::{HandlerPrediction, WorkloadPrediction};
use crate::predict::vm::MachinePrediction;

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
