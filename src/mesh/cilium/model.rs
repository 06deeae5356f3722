//! How pods take part in Cilium.

use crate::mesh::default_release::release_of;
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    port_of,
};
use crate::mesh::name::Mesh;
use crate::mesh::version::Version;

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

    fn membership(&self, _: &PodInput<'_, '_>) -> Fact<Membership> {
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
