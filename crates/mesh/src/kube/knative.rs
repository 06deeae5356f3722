//! What Knative Serving makes of the probes of its revisions.
//!
//! Source: Knative Serving 1.23.0, `pkg/apis/serving/v1/revision_defaults.go`,
//! `pkg/reconciler/revision/resources/deploy.go` and `queue.go`.

use crate::kube::probe_handler::{HttpGet, Port, ProbeHandler};
use crate::kube::revision::RevisionContainer;
use crate::kube::slot::Slot;

/// The group of Knative's `Service`, `Configuration` and `Revision`.
pub const KNATIVE_SERVING: &str = "serving.knative.dev";

/// The container that Knative adds to each pod.
pub const QUEUE_PROXY: &str = "queue-proxy";

/// Sets what Knative adds to a probe of the container that serves the requests: its port, and a `tcpSocket` handler
/// to a `readinessProbe` without a handler. Returns whether it adds a handler.
pub(super) fn complete(revision: RevisionContainer, slot: Slot, action: &mut ProbeHandler) -> bool {
    if !revision.is_serving || !matches!(slot, Slot::Liveness | Slot::Readiness) {
        return false;
    }
    let port = Port::Number(revision.user_port);
    match action {
        ProbeHandler::HttpGet(http) if http.port == Port::Number(0) => http.port = port,
        ProbeHandler::TcpSocket { port: written, .. } if *written == Port::Number(0) => {
            *written = port;
        }
        ProbeHandler::Grpc { port: written, .. } if *written == 0 && slot == Slot::Readiness => {
            *written = revision.user_port;
        }
        ProbeHandler::Missing if slot == Slot::Readiness => {
            *action = ProbeHandler::TcpSocket { port, host: None };
            return true;
        }
        _ => {}
    }
    false
}

/// Returns the request that the kubelet sends for a probe of a revision; `None` for a probe that stays as it is
/// written.
///
/// Knative removes a `readinessProbe` with a request from its container. The kubelet sends a request to queue-proxy,
/// which makes the check of the container from inside the pod.
#[must_use]
pub fn queue_proxy_request(
    revision: Option<RevisionContainer>,
    slot: Slot,
    action: &ProbeHandler,
) -> Option<ProbeHandler> {
    let revision = revision.filter(|revision| revision.is_main)?;
    let is_moved = slot == Slot::Readiness && action.port().is_some();
    is_moved.then(|| {
        ProbeHandler::HttpGet(HttpGet {
            path: "/".to_owned(),
            port: Port::Number(revision.queue_port),
            host: None,
            scheme: "HTTP".to_owned(),
            headers: vec![("K-Network-Probe".to_owned(), "queue".to_owned())],
        })
    })
}
