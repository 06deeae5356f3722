"""Envoy's configuration for a sidecar: its inbound listener, as Istio creates it for the mode of
mutual TLS, the protocols of the Service's ports, and one policy of callers.
"""

from typing import TYPE_CHECKING

from json_types import Json

if TYPE_CHECKING:
    from policy import Policy

INBOUND = 15006
SOURCE = "127.0.0.6"
DEFAULT_MODE = "PERMISSIVE"
TYPE = "type.googleapis.com/envoy."
# The ALPN protocols that sidecars offer: for HTTP inside of mutual TLS, and for other protocols inside of it.
ALPN_HTTP = ["istio-http/1.0", "istio-http/1.1", "istio-h2"]
ALPN_TCP = ["istio-peer-exchange", "istio"]
# The protocols that the HTTP inspector detects in plain text.
PLAIN_HTTP = ["http/1.0", "http/1.1", "h2c"]
UPSTREAMS: dict[str, Json] = {
    "http": {"explicit_http_config": {"http_protocol_options": {}}},
    "http2": {"explicit_http_config": {"http2_protocol_options": {}}},
    "auto": {"use_downstream_protocol_config": {"http_protocol_options": {}, "http2_protocol_options": {}}},
}


def bootstrap(policy: "Policy", protocols: dict[int, str], certificate: str, demand: bool = True) -> Json:
    """Returns the complete configuration. `protocols`: port of the Service -> http, http2, tcp or auto. Without
    `demand`, mutual TLS does not require a client certificate.
    """
    return {
        "static_resources": {
            "listeners": [_listener(policy, protocols, _mutual_tls(certificate, demand))],
            "clusters": [_cluster(name) for name in UPSTREAMS],
        },
    }


def _listener(policy: "Policy", protocols: dict[int, str], mutual_tls: Json) -> Json:
    chains = []
    for port in sorted(set(protocols) | set(policy.ports)):
        chains += _Chains(policy, mutual_tls, port).of(protocols.get(port, "auto"))
    chains += _Chains(policy, mutual_tls, None).of("auto")
    return {
        "name": "virtualInbound",
        "address": {"socket_address": {"address": "0.0.0.0", "port_value": INBOUND}},
        # A silent client stays connected: this is what a tcpSocket probe sees.
        "listener_filters_timeout": "0s",
        "continue_on_listener_filters_timeout": True,
        "listener_filters": [
            _typed("envoy.filters.listener.original_dst", "extensions.filters.listener.original_dst.v3.OriginalDst"),
            _typed("envoy.filters.listener.tls_inspector", "extensions.filters.listener.tls_inspector.v3.TlsInspector"),
            _typed("envoy.filters.listener.http_inspector",
                   "extensions.filters.listener.http_inspector.v3.HttpInspector"),
        ],
        "filter_chains": chains,
    }


class _Chains:
    """Filter chains of one port, or of all ports that do not have their own chains."""

    def __init__(self, policy: "Policy", mutual_tls: Json, port: int | None):
        self._mode = policy.mode if port is None else policy.ports.get(port, policy.mode)
        self._principals = policy.principals
        self._mutual_tls = mutual_tls
        self._port = port

    def of(self, protocol: str) -> list[Json]:
        is_tcp, is_auto = protocol == "tcp", protocol == "auto"
        web, stream = self._http(protocol), self._tcp()
        if self._mode == "STRICT":
            chains = [] if is_tcp else [self._chain(web, tls=True, alpn=ALPN_HTTP if is_auto else None, mutual=True)]
            return chains + ([self._chain(stream, tls=True, mutual=True)] if is_tcp or is_auto else [])
        if self._mode == "DISABLE":
            if not is_auto:
                return [self._chain(stream if is_tcp else web)]
            return [self._chain(web, tls=False, alpn=PLAIN_HTTP), self._chain(stream)]
        if is_tcp:
            return self._permissive_tcp(stream)
        chains = [self._chain(web, tls=True, alpn=ALPN_HTTP, mutual=True),
                  self._chain(web, tls=False, alpn=PLAIN_HTTP if is_auto else None)]
        return chains + (self._permissive_tcp(stream) if is_auto else [])

    def _permissive_tcp(self, stream: list[Json]) -> list[Json]:
        return [self._chain(stream, tls=True, alpn=ALPN_TCP, mutual=True),
                self._chain(stream, tls=False), self._chain(stream, tls=True)]

    def _chain(self, filters: list[Json], tls: bool | None = None, alpn: list[str] | None = None,
               mutual: bool = False) -> Json:
        match: Json = {}
        if self._port is not None:
            match["destination_port"] = self._port
        if tls is not None:
            match["transport_protocol"] = "tls" if tls else "raw_buffer"
        if alpn:
            match["application_protocols"] = alpn
        chain: Json = {"filter_chain_match": match, "filters": filters}
        if mutual:
            chain["transport_socket"] = self._mutual_tls
        return chain

    def _http(self, protocol: str) -> list[Json]:
        filters = []
        if self._principals:
            filters.append(_typed("envoy.filters.http.rbac", "extensions.filters.http.rbac.v3.RBAC",
                                  rules=_allow(self._principals)))
        filters.append(_typed("envoy.filters.http.router", "extensions.filters.http.router.v3.Router"))
        route = {"match": {"prefix": "/"}, "route": {"cluster": protocol, "timeout": "0s"}}
        manager = _typed(
            "envoy.filters.network.http_connection_manager",
            "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            stat_prefix="inbound", http_filters=filters,
            route_config={"virtual_hosts": [{"name": "inbound", "domains": ["*"], "routes": [route]}]})
        return [manager]

    def _tcp(self) -> list[Json]:
        filters = []
        if self._principals:
            filters.append(_typed("envoy.filters.network.rbac", "extensions.filters.network.rbac.v3.RBAC",
                                  stat_prefix="tcp", rules=_allow(self._principals)))
        filters.append(_typed("envoy.filters.network.tcp_proxy", "extensions.filters.network.tcp_proxy.v3.TcpProxy",
                              stat_prefix="inbound", cluster="auto"))
        return filters


def _typed(name: str, kind: str, **fields: object) -> Json:
    return {"name": name, "typed_config": {"@type": TYPE + kind, **fields}}


def _allow(principals: list[str]) -> Json:
    named = [{"authenticated": {"principal_name": {"exact": f"spiffe://{name}"}}} for name in principals]
    return {"action": "ALLOW", "policies": {"callers": {"permissions": [{"any": True}], "principals": named}}}


def _mutual_tls(certificate: str, demand: bool) -> Json:
    pem = {"filename": certificate}
    return _typed(
        "envoy.transport_sockets.tls", "extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        require_client_certificate=demand,
        common_tls_context={
            "alpn_protocols": ["istio-peer-exchange", "h2", "http/1.1"],
            "tls_certificates": [{"certificate_chain": pem, "private_key": pem}],
            "validation_context": {"trusted_ca": pem},
        })


def _cluster(name: str) -> Json:
    options = {"@type": TYPE + "extensions.upstreams.http.v3.HttpProtocolOptions", **UPSTREAMS[name]}
    return {
        "name": name,
        "type": "ORIGINAL_DST",
        "lb_policy": "CLUSTER_PROVIDED",
        "connect_timeout": "10s",
        "upstream_bind_config": {"source_address": {"address": SOURCE, "port_value": 0}},
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
    }
