//! Names that Cilium defines.

/// Label of Namespaces whose pods are enrolled in Cilium's ztunnel if its value is `true`.
pub(crate) const MTLS_ENABLED: &str = "io.cilium/mtls-enabled";
/// Port on which enrolled pods receive mutual TLS from each other (HBONE).
pub const HBONE_PORT: i64 = 15008;
