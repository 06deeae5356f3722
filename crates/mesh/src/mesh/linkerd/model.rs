//! The model of Linkerd: which pods it injects, and what it does to their probes.

use super::injection;
use super::keys::{INIT, PROXY};
use super::treatment::{PROBE_ROUTES, judge};
use crate::mesh::description::Mesh;
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeTreatment, RewriteSupport, release_of,
    treatments_of_unchanged_probes,
};
use crate::mesh::version::Version;

/// Linkerd, which does not change probes: the policy of a port decides the outcome.
#[derive(Debug)]
pub(crate) struct Linkerd;

impl MeshModel for Linkerd {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::LINKERD, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[PROXY, INIT]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        injection::membership(input)
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        treatments_of_unchanged_probes(membership, handlers, |handler, action, number| {
            judge(input, handler, action, number)
        })
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(PROBE_ROUTES, "Linkerd does not change probes")
    }
}
