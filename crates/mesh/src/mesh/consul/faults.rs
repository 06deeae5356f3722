//! The ways in which Consul breaks a handler.

crate::mesh::fault::faults! {
    /// HTTP in plain text to a port with mutual TLS: the mesh did not rewrite the probe.
    PLAIN_AT_MTLS: Fails at Proxy, "plain text to a port that requires mutual TLS";
    /// The mesh resolves the port name to the port of another container.
    PORT_NAME_OF_OTHER_CONTAINER: ChecksOther at Proxy, "the port name refers to the port of another container";
    /// The path is exposed literally, including its query.
    QUERY_IN_PATH: Fails at Proxy, "the path is exposed literally, including its query";
}
