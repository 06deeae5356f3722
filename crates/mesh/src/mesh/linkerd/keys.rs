//! Names that Linkerd defines.

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
