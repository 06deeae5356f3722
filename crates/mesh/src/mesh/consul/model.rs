//! How pods take part in Consul.

use super::keys::{DATAPLANE, INIT};
use super::probes::Pod;
use super::{injection, probes};
use crate::kube::Workload;
use crate::mesh::description::Mesh;
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    release_of,
};
use crate::mesh::version::Version;

/// The model of Consul.
#[derive(Debug)]
pub(crate) struct Consul;

impl MeshModel for Consul {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::CONSUL, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[DATAPLANE, INIT]
    }

    fn namespace_decides(&self) -> bool {
        false
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
        let pod = Pod::of(input);
        handlers
            .iter()
            .map(|handler| match membership {
                Membership::Injected => pod.treatments(handler),
                Membership::AlreadyInjected => pod.injected_already(handler),
                _ => ProbeTreatment::unchanged(pod.port_of(handler), ProbeDestination::Nothing),
            })
            .collect()
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport {
            oldest: Version::new(1, 0),
            not_deployable: "it exposes the probes that it finds, so pre-rewritten probes make its proxy \
                      send requests to itself",
            caution: "Consul creates the listeners behind the probes from the original probes",
        }
    }

    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        probes::owner(port)
    }
}
