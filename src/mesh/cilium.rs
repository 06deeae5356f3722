//! Cilium with mutual authentication: pods get no proxy, and probes are left alone.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path stays as it is) and "Policy Enforcement Modes" (`allow-localhost: auto` lets the
//! node in). Nothing was run.

use super::other::{Asked, Each, Meets, Membership, Model, Shape, Treatment, port_of, release_of};
use super::{Fact, Mesh, Version};

/// Cilium.
#[derive(Debug)]
pub(crate) struct Cilium;

impl Model for Cilium {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::Cilium, given, "the release is the latest")
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
        each.map(|one| Treatment::left(port_of(one), Meets::Nothing))
            .collect()
    }

    fn shape(&self) -> Shape {
        Shape::unchanged(Version::new(1, 0), "Cilium changes no probes")
    }
}

/// Tells whether a release of Cilium, as a chart names it, drops what comes from the node to pods that no policy
/// selects, where policies are always enforced: 1.20 and later (issue 48444), and what cannot be read.
#[must_use]
pub(crate) fn drops_unselected(release: Option<&str>) -> bool {
    let numbers = release.unwrap_or_default().trim_start_matches('v');
    let mut numbers = numbers.split('.').map(str::parse::<u16>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 20),
        _ => true,
    }
}
