//! The ports of the proxy.

/// Returns the purpose of a port that the proxy uses.
pub(super) const fn owner(port: i64) -> Option<&'static str> {
    match port {
        20000 => Some("inbound traffic"),
        20200 => Some("metrics"),
        20300..=20599 => Some("exposed probes"),
        _ => None,
    }
}
