//! The ways in which Linkerd breaks a handler.

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
