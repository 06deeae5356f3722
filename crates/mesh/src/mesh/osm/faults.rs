//! The ways in which Open Service Mesh breaks a handler.

crate::mesh::fault::faults! {
    /// A probe of the same kind in another container is checked instead.
    ANSWERED_BY_OTHER: ChecksOther at Proxy, "a probe of another container is checked instead";
    /// A probe of the same kind in another container removes its listener.
    LISTENER_TAKEN: Fails at Proxy, "a probe of another container removes its listener";
    /// A probe of the same kind in another container removes the helper.
    HELPER_TAKEN: Fails at Helper, "a probe of another container removes the helper";
    /// Only one of several HTTPS probes of a kind is forwarded.
    TLS_ANSWERED_BY_OTHER: ChecksOther at Proxy, "an HTTPS probe of another container is checked instead";
    /// HTTP and HTTPS probes of a kind share one listener, which supports only one of them.
    TLS_MIXED: Fails at Proxy, "HTTP and HTTPS share one listener, which supports only one of them";
    /// The rewrite drops `tcpSocket.host`.
    HOST_LOST: ChecksOther at Helper, "the pod itself is checked instead of `host`";
    /// The handler targets a listener of the proxy, which would send requests to itself.
    TARGETS_ITSELF: Fails at Proxy, "already targets the proxy, which would send requests to itself without end";
    /// The handler targets a proxy that does not exist.
    WITHOUT_PROXY: Fails at Proxy, "targets a proxy that does not exist";
    /// The pod has the proxy, but the probe does not target it.
    NOT_CHANGED: Fails at Proxy, "the pod has the proxy, but the probe was not rewritten";
    /// The probe targets the proxy, which has no listener for it.
    NO_LISTENER: Fails at Proxy, "targets the proxy, which has no listener for it";
    /// The probe targets the helper, which does not exist or does not get the port.
    NO_HELPER: Fails at Helper, "targets the helper, which cannot perform the check";
    /// The webhook drops `restartPolicy`: the init containers of the pod never complete.
    NEVER_STARTS: Fails at Webhook, "the webhook drops `restartPolicy`: the pod never starts";
}
