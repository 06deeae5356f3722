//! The ways in which Kuma breaks a handler.

crate::mesh::fault::faults! {
    /// The mesh sends the request to the application with another `Host` header.
    HOST_HEADER_LOST: ChecksOther at Helper, "the application receives the request without the `Host` header";
    /// The mesh sends the request to the pod itself instead of `httpGet.host`.
    HTTP_HOST_LOST: ChecksOther at Helper, "the pod itself receives the request instead of `host`";
    /// The probe targets the agent, which is switched off.
    AGENT_OFF: Fails at Helper, "targets an agent that is switched off";
    /// The webhook rejects the pod because of the port of the probe.
    POD_REFUSED: Fails at Webhook, "the webhook rejects the pod because of the port of the probe";
    /// The webhook does not rewrite probes of native sidecars.
    SIDECAR_LEFT: Fails at Proxy, "the webhook does not rewrite probes of native sidecars";
}
