//! The labels and annotations of Open Service Mesh that users write.

use crate::mesh::known_key::KeyMap::{Annotations, Labels};
use crate::mesh::known_key::KeyOwner::{Namespace, Pod};
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: keys::MONITORED,
        map: Labels,
        owners: &[Namespace],
        values: &[],
        meaning: "Names the mesh that monitors the namespace.",
        rules: &[],
    },
    KnownKey {
        name: keys::IGNORE,
        map: Labels,
        owners: &[Namespace],
        values: &["true"],
        meaning: "Keeps the webhook from injecting the pods of the namespace.",
        rules: &[],
    },
    KnownKey {
        name: keys::INJECTION,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the sidecar on or off.",
        rules: &["osm-annotation-value"],
    },
    KnownKey {
        name: keys::EXCLUDED_PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports whose inbound traffic the sidecar does not capture.",
        rules: &["osm-annotation-value"],
    },
];
