//! How pods take part in the proof mesh.

use crate::kube::ProbeHandler;
use crate::mesh::default_release::release_of;
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    port_of,
};
use crate::mesh::name::Mesh;
use crate::mesh::version::Version;

use super::faults::PLAIN_AT_PROXY;

/// Annotation of pods that enables injection.
pub(super) const INJECT: &str = "proof-mesh.example/inject";

/// The model of the proof mesh.
#[derive(Debug)]
pub(crate) struct ProofMesh;

impl MeshModel for ProofMesh {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::PROOF_MESH, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        let object = &input.workload.object;
        match input.workload.template.annotation(INJECT) {
            Some(entry) => {
                let place = object.label_at(entry.value.span(), "injection is on");
                Fact::known(Membership::Injected, place)
            }
            None => Fact::default(Membership::Outside, "no annotation", "--mesh NAME"),
        }
    }

    fn treatments(
        &self,
        _: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        let destination = |handler: &HandlerRef<'_>| match handler.1.action.as_ref() {
            _ if membership != Membership::Injected || port_of(handler).is_none() => {
                ProbeDestination::Nothing
            }
            Ok(ProbeHandler::TcpSocket { .. }) => ProbeDestination::Accepted,
            _ => ProbeDestination::Fault(&PLAIN_AT_PROXY),
        };
        handlers
            .iter()
            .map(|handler| ProbeTreatment::unchanged(port_of(handler), destination(handler)))
            .collect()
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(Version::new(1, 0), "the proof mesh does not change probes")
    }
}
