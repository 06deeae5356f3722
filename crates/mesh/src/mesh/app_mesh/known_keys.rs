//! The labels and annotations of AWS App Mesh that users write.

use crate::mesh::known_key::KeyMap::{Annotations, Labels};
use crate::mesh::known_key::KeyOwner::{Namespace, Pod};
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: keys::INJECT,
        map: Labels,
        owners: &[Namespace],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the proxy into the pods of the namespace on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::INJECT,
        map: Annotations,
        owners: &[Pod],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the proxy on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports that are redirected to the proxy, instead of the ports of its listeners.",
        rules: &[],
    },
];
