//! The labels and annotations of Cilium, with what editors offer for each.

use crate::mesh::description::KeyMap::Labels;
use crate::mesh::description::KeyOwner::Namespace;
use crate::mesh::description::KnownKey;

/// Label of Namespaces whose pods are enrolled in Cilium's ztunnel if its value is `true`.
pub(crate) const MTLS_ENABLED: &str = "io.cilium/mtls-enabled";
/// Port on which enrolled pods receive mutual TLS from each other (HBONE).
pub const HBONE_PORT: i64 = 15008;

pub(super) static KEYS: &[KnownKey] = &[KnownKey {
    name: MTLS_ENABLED,
    map: Labels,
    owners: &[Namespace],
    values: &["true"],
    meaning: "Enrols the pods of the namespace in Cilium's ztunnel.",
    rules: &["cilium-ztunnel-policy"],
}];
