//! Cilium with mutual authentication: pods get no proxy, and probes are left alone.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path stays as it is) and "Policy Enforcement Modes" (`allow-localhost: auto` lets the
//! node in). Nothing was run.

use crate::finding::Label;

use super::other::{Addition, Asked, Each, Meets, Membership, Model, Shape, Treatment, resolve};
use super::{Fact, Mesh, Version};

/// Cilium.
#[derive(Debug)]
pub struct Cilium;

impl Model for Cilium {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        let option = Mesh::Cilium.settle_release();
        match given {
            Some(release) => {
                Fact::settled(Some(release), format!("Cilium {release} (--mesh-version)"))
            }
            None => Fact::default(None, "the release is the latest", option),
        }
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[]
    }

    fn membership(&self, _: &Asked<'_, '_>) -> Fact<Membership> {
        let said = "Cilium puts no proxy into pods, and lets the node in by default";
        Fact::default(Membership::Outside, said, "--mesh NAME")
    }

    fn treat(&self, _: &Asked<'_, '_>, _: Membership, handlers: &[Each<'_>]) -> Vec<Treatment> {
        let each = handlers.iter();
        each.map(|(container, handler)| {
            let port = handler.action.as_ref().ok().and_then(|one| one.port());
            let port = port.and_then(|port| resolve(&port, container));
            Treatment::left(port, Meets::Nothing)
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape {
            oldest: Version::new(1, 0),
            why_not: "Cilium changes no probes",
            caution: "Cilium changes no probes",
        }
    }

    fn additions(
        &self,
        _: &Asked<'_, '_>,
        _: &[Each<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        Ok(Vec::new())
    }

    fn proxy(&self, _: &Asked<'_, '_>, _: &[Each<'_>]) -> Option<serde_json::Value> {
        None
    }

    fn port_owner(&self, _: i64) -> Option<&'static str> {
        None
    }
}
