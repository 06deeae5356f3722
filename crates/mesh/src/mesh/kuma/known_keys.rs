//! The labels and annotations of Kuma that users write.

use crate::mesh::known_key::KeyMap::{Annotations, Labels};
use crate::mesh::known_key::KeyOwner::{Namespace, Pod};
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: keys::INJECTION,
        map: Labels,
        owners: &[Pod, Namespace],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the sidecar on or off. As an annotation it has no effect since Kuma 2.2.",
        rules: &["kuma-label-not-annotation"],
    },
    KnownKey {
        name: keys::PROXY_PORT,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Sets the port of the probe proxy; 9001 by default. With 0, probes are not rewritten.",
        rules: &["kuma-probe-port-unprotected"],
    },
    KnownKey {
        name: keys::GATEWAY,
        map: Annotations,
        owners: &[Pod],
        values: &["enabled"],
        meaning: "Makes the pod a gateway, whose probes are not rewritten.",
        rules: &["kuma-gateway-annotation-false"],
    },
    KnownKey {
        name: keys::SIDECAR_ENV,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Sets variables of the sidecar.",
        rules: &[],
    },
    KnownKey {
        name: keys::VIRTUAL_PROBES,
        map: Annotations,
        owners: &[Pod],
        values: &["enabled", "disabled"],
        meaning: "Switches virtual probes on or off, up to Kuma 2.14.",
        rules: &[],
    },
    KnownKey {
        name: keys::VIRTUAL_PORT,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Sets the port of virtual probes.",
        rules: &[],
    },
    KnownKey {
        name: keys::EXCLUDED_PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports whose inbound traffic the sidecar does not capture, separated by commas.",
        rules: &[],
    },
];
