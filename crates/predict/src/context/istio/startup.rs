//! Decides whether the sidecar of a pod starts before the application.
//!
//! Source: Istio 1.31, `pkg/kube/inject/webhook.go` (`reorderPod`), and the order in which the
//! kubelet starts containers.

use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::install::NativeSidecars;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Version};

use crate::context::istio::facets::Startup;
use crate::context::istio::rewriting::proxy_container;

/// The first release whose injector knows `restartPolicy` of containers, so that native sidecars of the application start
/// as written (istio/istio#45959).
const KEEPS_RESTART_POLICY: Version = Version::new(1, 19);

impl<'c, 't> Startup<'c, 't> {
    /// Returns whether the sidecar is an init container, so that it starts before all containers of
    /// the application. With `auto` the Kubernetes version of the nodes decides. If that is unknown,
    /// the sidecar is assumed not to be native, the case in which probes of init containers fail.
    #[must_use]
    pub fn sidecar_is_native(self) -> Fact<bool> {
        let own = proxy_container(self.workload).filter(|proxy| proxy.image() != Some("auto"));
        if let Some(proxy) = own
            && let Some(name) = proxy.node.get("name")
        {
            let native = proxy.list == ContainerList::Init;
            let message = if native {
                "the sidecar is an init container"
            } else {
                "the sidecar is a regular container"
            };
            return Fact::known(native, self.workload.object.label_at(name.span(), message));
        }
        self.native_sidecars()
            .map(|native| native == NativeSidecars::On)
    }

    /// Returns whether traffic is captured while the startup probe of the init container `name` runs, before the sidecar
    /// starts; `None` if the sidecar starts before it, if the nodes decide, or if the release is too old.
    ///
    /// `istio-init` is the last init container unless the sidecar is native, so that the others can be reached. The CNI
    /// plugin captures traffic before all containers.
    #[must_use]
    pub fn capture_before_sidecar(self, name: &str) -> Option<Fact<bool>> {
        let native = self.sidecar_is_native();
        let release = self.istio().version().value;
        if native.value
            || self.nodes_decide_order()
            || release.is_some_and(|release| release < KEEPS_RESTART_POLICY)
        {
            return None;
        }
        let position = |wanted: &str| {
            let mut containers = self.workload.template.names_in(ContainerList::Init);
            containers.position(|(name, _)| name == wanted)
        };
        let captured = match position(keys::INIT_CONTAINER) {
            Some(init) => {
                let message = "the manifest contains the container `istio-init`";
                Fact::settled(position(name) > Some(init), message)
            }
            None => self.istio().ports().cni(),
        };
        let message = if captured.value {
            "traffic is captured before this container starts, and the sidecar starts later"
        } else {
            "traffic is captured only after this container has started"
        };
        let order = Fact::settled(captured.value, message).depending_on(&native);
        Some(order.depending_on(&captured))
    }

    /// Returns whether the nodes decide if the sidecar is native, and their Kubernetes version is
    /// unknown.
    #[must_use]
    pub fn nodes_decide_order(self) -> bool {
        self.native_sidecars().value == NativeSidecars::Auto
            && proxy_container(self.workload).is_none_or(|proxy| proxy.image() == Some("auto"))
    }

    /// Returns whether the sidecar is up before the containers of the application start: it is
    /// native, or the application waits for it.
    #[must_use]
    pub fn sidecar_starts_first(self) -> Fact<bool> {
        let native = self.sidecar_is_native();
        if native.value {
            return native;
        }
        let hold = self.hold_application();
        if hold.value {
            return hold;
        }
        native.depending_on(&hold)
    }
}
