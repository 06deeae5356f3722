//! The ways in which a mesh other than Istio breaks a handler.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A way in which a mesh breaks a handler. Each mesh declares its own with `faults!`; those of several meshes
/// are in `shared_faults`.
#[derive(Clone, Copy)]
pub struct ProbeFault {
    /// The path of its declaration, which identifies it.
    pub id: &'static str,
    /// The effect on the handler.
    pub effect: FaultEffect,
    /// Where the request of the kubelet goes wrong.
    pub place: FaultPlace,
    /// The description, in a few words.
    pub text: &'static str,
}

/// The effect of a fault on the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// It fails although the application works.
    Fails,
    /// It checks something else.
    ChecksOther,
}

/// The part of the mesh at which the request of the kubelet goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultPlace {
    /// The webhook: the pod is rejected, or never starts.
    Webhook,
    /// The host that the handler names.
    Host,
    /// The proxy in the pod, or its absence.
    Proxy,
    /// The helper in the pod that performs checks, or its absence.
    Helper,
}

impl PartialEq for ProbeFault {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for ProbeFault {}

impl Hash for ProbeFault {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for ProbeFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id)
    }
}

/// Declares faults, each with its effect, its place and its description, and `ALL`, the list of them.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident: $effect:ident at $place:ident, $text:literal;)+) => {
        $(
            $(#[$doc])*
            pub static $name: $crate::mesh::fault::ProbeFault = $crate::mesh::fault::ProbeFault {
                id: concat!(module_path!(), "::", stringify!($name)),
                effect: $crate::mesh::fault::FaultEffect::$effect,
                place: $crate::mesh::fault::FaultPlace::$place,
                text: $text,
            };
        )+

        /// All faults of this file.
        pub(in crate::mesh) static ALL: &[&$crate::mesh::fault::ProbeFault] = &[$(&$name),+];
    };
}
pub(in crate::mesh) use faults;

/// The ways in which several meshes break a handler.
pub mod shared_faults {
    crate::mesh::fault::faults! {
        /// gRPC in plain text to a port with mutual TLS.
        GRPC_AT_MTLS: Fails at Proxy, "gRPC in plain text to a port that requires mutual TLS";
        /// A hook in plain text to a port with mutual TLS.
        HOOK_AT_MTLS: Fails at Proxy, "a hook in plain text to a port that requires mutual TLS";
        /// The rewrite keeps `httpGet.host` and changes the port.
        HOST_KEPT: Fails at Host, "the kubelet targets `host` on the port of the proxy";
        /// The port belongs to the proxy.
        PORT_OF_PROXY: Fails at Proxy, "the port belongs to the proxy";
        /// HTTPS to a listener that only supports plain HTTP.
        HTTPS_AT_PLAIN_LISTENER: Fails at Proxy, "HTTPS to a listener that only supports plain HTTP";
    }
}
