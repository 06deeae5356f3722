//! The ways in which the proof mesh breaks a handler.

crate::mesh::fault::faults! {
    /// The proxy only accepts mutual TLS.
    PLAIN_AT_PROXY: Fails, "the proxy only accepts mutual TLS";
}
