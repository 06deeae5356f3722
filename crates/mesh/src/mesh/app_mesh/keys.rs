//! The labels and annotations of App Mesh, with what editors offer for each.

use crate::mesh::description::KeyMap::{Annotations, Labels};
use crate::mesh::description::KeyOwner::{Namespace, Pod};
use crate::mesh::description::KnownKey;

/// Label of Namespaces and annotation of pods that switches injection on or off.
pub const INJECT: &str = "appmesh.k8s.aws/sidecarInjectorWebhook";
/// Annotation of pods with the ports that are redirected, instead of the ports of the listeners.
pub(crate) const PORTS: &str = "appmesh.k8s.aws/ports";
/// The name of the proxy container.
pub(crate) const ENVOY: &str = "envoy";

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: INJECT,
        map: Labels,
        owners: &[Namespace],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the proxy into the pods of the namespace on or off.",
        rules: &[],
    },
    KnownKey {
        name: INJECT,
        map: Annotations,
        owners: &[Pod],
        values: &["enabled", "disabled"],
        meaning: "Switches the injection of the proxy on or off.",
        rules: &[],
    },
    KnownKey {
        name: PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports that are redirected to the proxy, instead of the ports of its listeners.",
        rules: &[],
    },
];

/// The ways in which App Mesh breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// The listener of the port only accepts TLS, or requires a certificate of the client.
        PLAIN_AT_STRICT: Fails at Proxy, "the listener of the port only accepts TLS of the mesh";
    }
}
