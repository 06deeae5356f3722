//! Containers and volumes of a pod that belong to OSM.

use meshprobe_yaml::NodeRef;

use super::keys::BOOTSTRAP_VOLUME;
use crate::kube::{ContainerList, Workload};

/// Returns whether the manifest contains a container of this name.
pub(super) fn has_container(workload: &Workload<'_>, name: &str) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    containers.iter().any(|container| container.name() == name)
}

/// Returns whether the container declares a port, in any protocol.
pub(super) fn declares(workload: &Workload<'_>, name: &str, port: i64) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    containers
        .iter()
        .filter(|container| container.name() == name)
        .any(|container| {
            container
                .ports()
                .any(|declared| declared.number == Some(port))
        })
}

/// Returns the name of the volume by which the webhook recognizes an injected pod.
pub(super) fn bootstrap_volume<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let volumes = workload.template.spec.get("volumes")?;
    volumes
        .items()
        .filter_map(|volume| volume.get("name"))
        .find(|name| name.text() == Some(BOOTSTRAP_VOLUME))
}
