//! How pods take part in Cilium.

use crate::mesh::default_release::release_of;
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    port_of,
};
use crate::mesh::name::Mesh;
use crate::mesh::version::Version;

use super::ztunnel::enrolled;

/// How to find out what ztunnel does to probes, which Cilium does not document.
const SETTLE_PROBES: &str = "no option settles this: test the probe in a cluster";

/// The model of Cilium.
#[derive(Debug)]
pub(crate) struct Cilium;

impl MeshModel for Cilium {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::CILIUM, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        let is_on_host = input.workload.template.host_network().is_some();
        let namespace = input.namespace.filter(|_| !is_on_host);
        if let Some(enrolled) = namespace.and_then(enrolled) {
            let message = "ztunnel forwards the kubelet's packets to the application";
            let forwards = Fact::assumed((), message, Some(SETTLE_PROBES));
            return enrolled
                .depending_on(&forwards)
                .map(|()| Membership::Outside);
        }
        let message =
            "Cilium adds no proxy to pods, and accepts connections from the node by default";
        Fact::default(Membership::Outside, message, "--mesh NAME")
    }

    fn treatments(
        &self,
        _: &PodInput<'_, '_>,
        _: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        handlers
            .iter()
            .map(|handler| ProbeTreatment::unchanged(port_of(handler), ProbeDestination::Nothing))
            .collect()
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(Version::new(1, 0), "Cilium does not change probes")
    }
}
