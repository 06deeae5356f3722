//! Ports of a pod that are not the application's.

use crate::context::Dataplane;
use crate::mesh::istio::capture::sidecar_port;
use crate::mesh::other;

use super::WorkloadPrediction;

/// Returns what the sidecar uses a port of the pod for; `None` where it is the application's.
#[must_use]
pub fn port_owner(pod: &WorkloadPrediction<'_>, port: i64) -> Option<&'static str> {
    if pod.dataplane.value == Dataplane::Other {
        return other::model(pod.mesh.value?)?.port_owner(port);
    }
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let agent = (port == pod.agent_port.value).then_some("its agent");
    sidecar_port(port).or(agent)
}
