//! The ways in which several meshes break a handler.

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
