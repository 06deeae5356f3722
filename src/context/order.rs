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
    /// the application. `auto` counts as yes: it is so on current nodes.
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
            .map(|native| native != NativeSidecars::Off)
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
