//! Which of the containers of a pod comes first: the sidecar or the application.
//!
//! Source: Istio 1.31, `pkg/kube/inject/webhook.go` (`reorderPod`), and the order in which the
//! kubelet starts containers.

use crate::kube::{ContainerList, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::install::NativeSidecars;

use super::Context;
use super::pod::proxy_container;

impl<'t> Context<'t> {
    /// Tells whether the sidecar is an init container, so that it starts before all containers of
    /// the application. `auto` asks the nodes: where nothing says which Kubernetes they run, no is
    /// assumed, which is the answer of which the probes of init containers have to know.
    #[must_use]
    pub fn sidecar_is_native(&self, workload: &Workload<'t>) -> Fact<bool> {
        let own = proxy_container(workload).filter(|proxy| proxy.image() != Some("auto"));
        if let Some(proxy) = own
            && let Some(name) = proxy.node.get("name")
        {
            let native = proxy.list == ContainerList::Init;
            let said = if native {
                "the sidecar is an init container"
            } else {
                "the sidecar is a container like others"
            };
            return Fact::known(native, workload.object.label_at(name.span(), said));
        }
        self.native_sidecars(workload)
            .map(|native| native == NativeSidecars::On)
    }

    /// Tells whether the nodes decide if the sidecar is a native one, and nothing says which
    /// Kubernetes they run.
    #[must_use]
    pub fn nodes_decide_order(&self, workload: &Workload<'t>) -> bool {
        self.native_sidecars(workload).value == NativeSidecars::Auto
            && proxy_container(workload).is_none_or(|proxy| proxy.image() == Some("auto"))
    }

    /// Tells whether the sidecar is up before the containers of the application start: it is a
    /// native one, or they are held back.
    #[must_use]
    pub fn sidecar_starts_first(&self, workload: &Workload<'t>) -> Fact<bool> {
        let native = self.sidecar_is_native(workload);
        if native.value {
            return native;
        }
        let hold = self.hold_application(workload);
        if hold.value {
            return hold;
        }
        native.resting_on(&hold)
    }
}
