//! The labels and annotations of Linkerd, with what editors offer for each.

use crate::mesh::description::{KnownKey, known_keys};

/// Annotation of pods and Namespaces that enables injection.
pub(crate) const INJECT: &str = "linkerd.io/inject";
/// Annotation of pods and Namespaces with the policy of ports without a `Server`.
pub(crate) const DEFAULT_POLICY: &str = "config.linkerd.io/default-inbound-policy";
/// Annotation of pods and Namespaces with ports that are excluded from traffic capture.
pub(crate) const SKIPPED_PORTS: &str = "config.linkerd.io/skip-inbound-ports";
/// Annotation of pods and Namespaces with ports whose traffic the proxy does not read.
pub(crate) const OPAQUE_PORTS: &str = "config.linkerd.io/opaque-ports";
/// Annotation of pods and Namespaces with ports that require an identity of the mesh, unless a `Server`
/// applies.
pub(crate) const REQUIRE_IDENTITY: &str = "config.linkerd.io/proxy-require-identity-inbound-ports";
/// Annotations of pods and Namespaces that make the proxy a native sidecar; the first one that is set decides.
pub(super) const NATIVE_SIDECAR: [&str; 3] = [
    "config.linkerd.io/proxy-enable-native-sidecar",
    "config.beta.linkerd.io/proxy-enable-native-sidecar",
    "config.alpha.linkerd.io/proxy-enable-native-sidecar",
];
/// The name of the proxy container.
pub(crate) const PROXY: &str = "linkerd-proxy";
/// The name of the init container that redirects traffic.
pub(crate) const INIT: &str = "linkerd-init";

pub(super) static KEYS: &[KnownKey] = known_keys! {
    INJECT, Annotations of Pod Namespace, &["enabled", "ingress", "disabled"], [],
        "Switches the injection of the proxy on or off.";
    DEFAULT_POLICY, Annotations of Pod Namespace, &["all-unauthenticated", "all-authenticated", "cluster-unauthenticated", "cluster-authenticated", "deny", "audit"], ["linkerd-grpc-probe-denied", "linkerd-probe-network"],
        "Selects which clients may connect to ports that no `Server` selects.";
    SKIPPED_PORTS, Annotations of Pod Namespace, &[], [],
        "Lists the ports whose inbound traffic the proxy does not capture, separated by commas.";
    OPAQUE_PORTS, Annotations of Pod Namespace, &[], [],
        "Lists the ports whose traffic the proxy does not read, separated by commas.";
    REQUIRE_IDENTITY, Annotations of Pod Namespace, &[], ["linkerd-https-probe-denied"],
        "Lists the ports that require an identity of the mesh, unless a `Server` selects them.";
};

/// The ways in which Linkerd breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// A route for the port replaces the one that the mesh would create for the probe.
        ROUTE_HIDES_PROBE: Fails at Proxy, "a route for the port replaces the route of the probe";
        /// The port only accepts clients of the mesh, and gRPC probes get no route.
        GRPC_DENIED: Fails at Proxy, "the port only accepts clients of the mesh, and gRPC has no exception";
        /// The port only accepts clients of the mesh, and hooks get no route.
        HOOK_DENIED: Fails at Proxy, "the port only accepts clients of the mesh, and hooks have no exception";
        /// The port only accepts clients of the mesh, and the mesh cannot create a route for the probe.
        NO_PROBE_ROUTE: Fails at Proxy, "the port only accepts clients of the mesh, without exception";
        /// The route that the mesh creates for the probe never matches: its path does not start with a slash.
        PATH_WITHOUT_SLASH: Fails at Proxy, "the exception for the probe never matches: its path does not start with a slash";
        /// The proxy does not know the port.
        PORT_UNDECLARED: Fails at Proxy, "the proxy does not know the port";
    }
}
