//! The labels and annotations of Cilium that users write.

use crate::mesh::known_key::KeyMap::Labels;
use crate::mesh::known_key::KeyOwner::Namespace;
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[KnownKey {
    name: keys::MTLS_ENABLED,
    map: Labels,
    owners: &[Namespace],
    values: &["true"],
    meaning: "Enrols the pods of the namespace in Cilium's ztunnel.",
    rules: &["cilium-ztunnel-policy"],
}];
