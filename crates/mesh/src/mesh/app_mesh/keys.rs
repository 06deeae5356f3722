//! Names that App Mesh defines.

/// Label of Namespaces and annotation of pods that switches injection on or off.
pub const INJECT: &str = "appmesh.k8s.aws/sidecarInjectorWebhook";
/// Annotation of pods with the ports that are redirected, instead of the ports of the listeners.
pub(crate) const PORTS: &str = "appmesh.k8s.aws/ports";
/// The name of the proxy container.
pub(crate) const ENVOY: &str = "envoy";
