//! Decides whether the sidecar of a pod starts before the application.
//!
//! Source: Istio 1.31, `pkg/kube/inject/webhook.go` (`reorderPod`), and the order in which the
//! kubelet starts containers.

use crate::kube::ContainerList;
use crate::mesh::Fact;
use crate::mesh::istio::install::NativeSidecars;

use crate::context::istio::facets::Startup;
use crate::context::istio::rewriting::proxy_container;

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
