//! Finds ports of a pod that belong to its sidecar.

use meshprobe_mesh::mesh::istio::capture::sidecar_port;
use meshprobe_mesh::mesh::model_of;

use crate::context::Dataplane;
use crate::predict::prediction::WorkloadPrediction;

/// Returns what the sidecar uses a port of the pod for; `None` for a port of the application.
#[must_use]
pub fn port_owner(pod: &WorkloadPrediction<'_>, port: i64) -> Option<&'static str> {
    if pod.dataplane.value == Dataplane::Other {
        let model = model_of(pod.mesh.value?)?;
        return model.port_owner(&pod.workload, pod.release.value, port);
    }
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let agent = (port == pod.agent_port.value).then_some("its agent");
    sidecar_port(port).or(agent)
}
