//! How pods take part in Cilium.
//!
//! Namespaces that are enrolled in Cilium's ztunnel (beta, since Cilium 1.19).
//!
//! Source: the documentation of Cilium, "Ztunnel Transparent Encryption (Beta)". It does not describe how ztunnel treats
//! the packets of the kubelet.
//!
//! Releases that enforce policies differently.
//!
//! The labels and annotations of Cilium, with what editors offer for each.

use crate::kube::Object;
use crate::mesh::description::{KnownKey, Mesh, known_keys};
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    port_of, release_of,
};
use crate::mesh::{Fact, Version};

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

/// What shows whether Cilium runs with ztunnel; options cannot state it.
const SETTLE: &str = "`enable-ztunnel` in the ConfigMap `cilium-config`";

/// Returns the fact that the pods of a Namespace are enrolled; `None` if they are not.
#[must_use]
pub fn enrolled(namespace: &Object<'_>) -> Option<Fact<()>> {
    let entry = namespace.label(MTLS_ENABLED)?;
    (entry.value.text() == Some("true")).then_some(())?;
    let message = "the pods of this Namespace are enrolled in Cilium's ztunnel";
    let place = namespace.label_at(entry.value.span(), message);
    let is_on = Fact::assumed(
        (),
        "Cilium runs with `encryption.type: ztunnel`",
        Some(SETTLE),
    );
    Some(Fact::known((), place).depending_on(&is_on))
}

/// Returns whether a release of Cilium, named as in a chart, drops connections from the node to pods that no policy
/// selects if policies are always enforced. This applies to 1.20 and later (issue 48444), and to unreadable releases.
#[must_use]
pub fn drops_unselected(release: Option<&str>) -> bool {
    let numbers = release.unwrap_or_default().trim_start_matches('v');
    let mut numbers = numbers.split('.').map(str::parse::<u16>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 20),
        _ => true,
    }
}

/// Label of Namespaces whose pods are enrolled in Cilium's ztunnel if its value is `true`.
pub(crate) const MTLS_ENABLED: &str = "io.cilium/mtls-enabled";
/// Port on which enrolled pods receive mutual TLS from each other (HBONE).
pub const HBONE_PORT: i64 = 15008;

pub(super) static KEYS: &[KnownKey] = known_keys! {
    MTLS_ENABLED, Labels of Namespace, &["true"], ["cilium-ztunnel-policy"],
        "Enrols the pods of the namespace in Cilium's ztunnel.";
};
