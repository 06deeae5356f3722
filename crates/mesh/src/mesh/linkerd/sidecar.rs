//! The sidecars because of which Linkerd's webhook does not inject a pod.
//!
//! Source: `HasExistingSidecars` in `pkg/healthcheck/sidecar.go`.

use meshprobe_yaml::Span;

use super::keys::{INIT, PROXY};
use crate::kube::{Container, ContainerList};
use crate::mesh::Fact;
use crate::mesh::model::{Membership, PodInput};
use crate::mesh::version::Version;

/// The first release that looks for proxies in init containers (edge-24.5.1).
const NATIVE_PROXIES: Version = Version::new(2, 16);

/// The name and the image of a container that the webhook looks for.
struct Sidecar {
    name: &'static str,
    image: &'static str,
    membership: Membership,
    message: &'static str,
}

const PROXIES: [Sidecar; 2] = [
    Sidecar {
        name: PROXY,
        image: "cr.l5d.io/linkerd/proxy:",
        membership: Membership::AlreadyInjected,
        message: "the manifest contains the proxy of Linkerd",
    },
    Sidecar {
        name: "istio-proxy",
        image: "gcr.io/istio-release/proxyv2:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods with the proxy of Istio",
    },
];

const INIT_CONTAINERS: [Sidecar; 2] = [
    Sidecar {
        name: INIT,
        image: "cr.l5d.io/linkerd/proxy-init:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods that contain its init container",
    },
    Sidecar {
        name: "istio-init",
        image: "gcr.io/istio-release/proxy_init:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods with the init container of Istio",
    },
];

impl Sidecar {
    /// Returns where a container has the name or the image, and what follows. An image does not show that the container
    /// is the proxy of this pod.
    fn found_in(&self, container: &Container<'_>) -> Option<(Span, Membership, &'static str)> {
        if container.name() == self.name {
            let span = container.node.get("name")?.span();
            return Some((span, self.membership, self.message));
        }
        container
            .image()
            .filter(|image| image.starts_with(self.image))?;
        let span = container.node.get("image")?.span();
        let message = "Linkerd does not inject pods with this image";
        Some((span, Membership::Outside, message))
    }
}

/// Returns whether the webhook looks for a proxy in a container. Before 2.16 it ignores init containers; a second
/// container named `linkerd-proxy` is never added.
fn is_checked_for_proxies(container: &Container<'_>, release: Option<Version>) -> bool {
    match container.list {
        ContainerList::Main => true,
        ContainerList::Init => {
            container.name() == PROXY || release.is_none_or(|release| release >= NATIVE_PROXIES)
        }
        ContainerList::Ephemeral => false,
    }
}

/// Returns the membership of a pod that contains a sidecar: the webhook does not change it.
pub(super) fn of(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let containers = input.workload.template.containers();
    let proxies = PROXIES
        .iter()
        .flat_map(|sidecar| containers.iter().map(move |container| (sidecar, container)))
        .filter(|(_, container)| is_checked_for_proxies(container, input.release));
    let init = INIT_CONTAINERS.iter().flat_map(|sidecar| {
        containers
            .iter()
            .filter(|container| container.list == ContainerList::Init)
            .map(move |container| (sidecar, container))
    });
    proxies.chain(init).find_map(|(sidecar, container)| {
        let (span, membership, message) = sidecar.found_in(container)?;
        let place = input.workload.object.label_at(span, message);
        Some(Fact::known(membership, place))
    })
}
