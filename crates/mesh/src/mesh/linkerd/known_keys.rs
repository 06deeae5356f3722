//! The labels and annotations of Linkerd that users write.

use crate::mesh::known_key::KeyMap::Annotations;
use crate::mesh::known_key::KeyOwner::{Namespace, Pod};
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: keys::INJECT,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &["enabled", "ingress", "disabled"],
        meaning: "Switches the injection of the proxy on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::DEFAULT_POLICY,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &[
            "all-unauthenticated",
            "all-authenticated",
            "cluster-unauthenticated",
            "cluster-authenticated",
            "deny",
            "audit",
        ],
        meaning: "Selects which clients may connect to ports that no `Server` selects.",
        rules: &["linkerd-grpc-probe-denied", "linkerd-probe-network"],
    },
    KnownKey {
        name: keys::SKIPPED_PORTS,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &[],
        meaning: "Lists the ports whose inbound traffic the proxy does not capture, separated by commas.",
        rules: &[],
    },
    KnownKey {
        name: keys::OPAQUE_PORTS,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &[],
        meaning: "Lists the ports whose traffic the proxy does not read, separated by commas.",
        rules: &[],
    },
    KnownKey {
        name: keys::REQUIRE_IDENTITY,
        map: Annotations,
        owners: &[Pod, Namespace],
        values: &[],
        meaning: "Lists the ports that require an identity of the mesh, unless a `Server` selects them.",
        rules: &["linkerd-https-probe-denied"],
    },
];
