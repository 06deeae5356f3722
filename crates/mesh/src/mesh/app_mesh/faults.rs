//! The ways in which App Mesh breaks a handler.

crate::mesh::fault::faults! {
    /// The listener of the port only accepts TLS, or requires a certificate of the client.
    PLAIN_AT_STRICT: Fails at Proxy, "the listener of the port only accepts TLS of the mesh";
}
