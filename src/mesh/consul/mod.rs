//! Consul on Kubernetes: `httpGet` probes are pointed at listeners that Consul exposes.
//!
//! Sources, consul-k8s a507b1d1, run:
//! `control-plane/connect-inject/webhook/{mesh_webhook,redirect_traffic}.go`; the registration in
//! `controllers/endpoints/endpoints_controller.go`. The ports are the same from 1.0 to 2.0.

mod injection;
mod probes;

use super::other::{Asked, Each, Meets, Membership, Model, Shape, Treatment, release_of};
use super::{Fact, Mesh, Version};

pub(crate) use injection::several_services;

use probes::Pod;

/// Annotation of pods that asks for injection.
pub(crate) const INJECT: &str = "consul.hashicorp.com/connect-inject";
/// Annotation of pods that the webhook has seen.
pub(crate) const STATUS: &str = "consul.hashicorp.com/connect-inject-status";
/// Annotation of pods with the names of their services.
pub(crate) const SERVICE: &str = "consul.hashicorp.com/connect-service";
/// Annotation of pods and label of Namespaces that switches the redirect.
pub(crate) const TRANSPARENT: &str = "consul.hashicorp.com/transparent-proxy";
/// Annotation of pods that switches the rewrite of probes.
pub(crate) const OVERWRITE: &str = "consul.hashicorp.com/transparent-proxy-overwrite-probes";
/// Annotation of pods with ports that the redirect leaves alone.
pub(crate) const EXCLUDED_PORTS: &str =
    "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports";
/// The proxy.
pub(crate) const DATAPLANE: &str = "consul-dataplane";

/// Consul.
#[derive(Debug)]
pub(crate) struct Consul;

impl Model for Consul {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::Consul, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[DATAPLANE, "consul-connect-inject-init"]
    }

    fn namespace_decides(&self) -> bool {
        false
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        injection::membership(asked)
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        let pod = Pod::of(asked);
        let each = handlers.iter();
        each.map(|one| match membership {
            Membership::Injected => pod.treat(one),
            Membership::Brought => pod.injected_already(one),
            _ => Treatment::left(pod.port_of(one), Meets::Nothing),
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape {
            oldest: Version::new(1, 0),
            why_not: "what it exposes is taken from the probes it finds, so probes that were \
                      rewritten before make its proxy ask itself",
            caution: "the listeners behind the probes are registered with Consul by the original",
        }
    }

    fn port_owner(&self, port: i64) -> Option<&'static str> {
        match port {
            20000 => Some("inbound traffic"),
            20200 => Some("metrics"),
            20300..=20599 => Some("exposed probes"),
            _ => None,
        }
    }
}
