//! Finds the sidecar that a manifest contains.

use crate::context::dataplane::Dataplane;
use crate::kube::{ContainerList, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::yaml::NodeRef;

/// Returns the sidecar that the manifest contains: the output of `istioctl kube-inject`, or an export
/// from a cluster. A container with `image: auto` is only a request to the injector.
pub(in crate::context) fn own_sidecar(workload: &Workload<'_>) -> Option<Fact<Dataplane>> {
    let mut containers = [ContainerList::Main, ContainerList::Init]
        .into_iter()
        .flat_map(|list| workload.template.names_in(list));
    let (_, proxy) = containers.find(|(name, container)| {
        let image = || container.get("image").and_then(NodeRef::text);
        *name == keys::PROXY_CONTAINER && image().is_some_and(|image| image != "auto")
    })?;
    let span = proxy.get("name").map(NodeRef::span)?;
    let place = workload
        .object
        .label_at(span, "the manifest contains its own sidecar");
    Some(Fact::known(Dataplane::Sidecar, place))
}
