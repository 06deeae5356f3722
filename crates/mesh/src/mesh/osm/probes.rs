//! The original probes that OSM records, and which of them are kept.
//!
//! Ranges of releases with the same behaviour.
//!
//! The static listeners and clusters that OSM writes into the bootstrap of a pod's Envoy.
//!
//! Source: `pkg/envoy/bootstrap/envoy_config_health_probes.go` of v1.2.4 and of the development head;
//! compared with the output of that code.

use serde_json::{Value, json};

use super::keys::{listener_port, probe_kind};
use crate::kube::{ContainerList, ProbeHandler, Slot};
use crate::mesh::model::{HandlerRef, resolve};
use crate::mesh::{Fact, Mesh, Version};

/// How a recorded probe is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// As HTTP, with the original path.
    Http,
    /// As bytes, because TLS cannot be read: any scheme that is not `HTTP`.
    Tls,
    /// Not by the proxy: the helper opens the connection.
    Tcp,
}

/// A probe as the webhook records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The index of the handler.
    pub index: usize,
    /// The container.
    pub container: String,
    /// The kind of probe.
    pub slot: Slot,
    /// How it is forwarded.
    pub transport: Transport,
    /// The path; empty for `tcpSocket`.
    pub path: String,
    /// The port; 0 if its name is not declared in the container.
    pub port: i64,
    /// Seconds that a request of the proxy may take, at least 1.
    pub timeout: i64,
}

/// Returns the probes that the webhook records: HTTP and TCP probes of `containers`, without those of its own
/// containers.
#[must_use]
pub(crate) fn records(handlers: &[HandlerRef<'_>]) -> Vec<Record> {
    handlers
        .iter()
        .enumerate()
        .filter_map(|(index, handler)| record(index, handler))
        .collect()
}

fn record(index: usize, (container, handler): &HandlerRef<'_>) -> Option<Record> {
    if handler.slot.is_lifecycle() || container.list != ContainerList::Main {
        return None;
    }
    let (transport, path) = match handler.action.as_ref().ok()? {
        ProbeHandler::HttpGet(http) if http.scheme == "HTTP" => {
            (Transport::Http, http.path.clone())
        }
        ProbeHandler::HttpGet(http) => (Transport::Tls, http.path.clone()),
        ProbeHandler::TcpSocket { .. } => (Transport::Tcp, String::new()),
        _ => return None,
    };
    let port = handler.action.as_ref().ok()?.port()?;
    Some(Record {
        index,
        container: container.name().to_owned(),
        slot: handler.slot,
        transport,
        path,
        port: resolve(&port, container).unwrap_or(0),
        timeout: handler.timeout_seconds.unwrap_or(1).max(1),
    })
}

/// Returns the records that are kept: up to 1.2, a pod has one of each kind, and that of the last container
/// takes precedence.
pub(super) fn kept(era: Era, records: &[Record]) -> Vec<&Record> {
    if era == Era::PerContainer {
        return records.iter().collect();
    }
    let kinds = [Slot::Liveness, Slot::Readiness, Slot::Startup];
    kinds
        .iter()
        .filter_map(|slot| records.iter().rfind(|record| record.slot == *slot))
        .collect()
}

/// The number that represents the development head after the last release.
pub(super) const HEAD: Version = Version::new(1, 3);

/// Ranges of releases that treat probes in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 0.7 and 0.8: `httpGet` in plain text only.
    HttpOnly,
    /// 0.9 to 1.0: `tcpSocket` is not rewritten and targets the proxy, which accepts everything.
    TcpAccepted,
    /// 1.1 and 1.2: one listener per kind of probe and pod.
    PerKind,
    /// The development head after 1.2, never released: one route per container.
    PerContainer,
}

impl Era {
    /// Returns the era of a release; without a release, that of 1.2, the last one.
    #[must_use]
    pub fn of(release: Option<Version>) -> Self {
        match release {
            Some(release) if release < Version::new(0, 9) => Self::HttpOnly,
            Some(release) if release < Version::new(1, 1) => Self::TcpAccepted,
            Some(release) if release > Version::new(1, 2) => Self::PerContainer,
            _ => Self::PerKind,
        }
    }
}

/// Returns the release to apply.
pub(super) fn fact(given: Option<Version>) -> Fact<Option<Version>> {
    let option = Mesh::OSM.settle_release();
    match given {
        Some(release) if release > Version::new(1, 2) => Fact::settled(
            Some(release),
            "the development head of OSM (--mesh-version)",
        ),
        Some(release) => Fact::settled(Some(release), format!("OSM {release} (--mesh-version)")),
        None => Fact::default(None, "the release is OSM 1.2, the last release", option),
    }
}

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters";

/// Returns the listeners for the probes of a pod, one for each kind of probe, and the clusters, one for each probe that is
/// forwarded; `None` if the proxy forwards none.
#[must_use]
pub(crate) fn bootstrap(era: Era, records: &[Record]) -> Option<Value> {
    let mut kept = kept(era, records);
    kept.retain(|record| record.transport != Transport::Tcp);
    let kinds = [Slot::Liveness, Slot::Readiness, Slot::Startup];
    let listeners = kinds.iter().filter_map(|slot| {
        let of_kind: Vec<&Record> = kept
            .iter()
            .copied()
            .filter(|record| record.slot == *slot)
            .collect();
        listener(era, *slot, &of_kind)
    });
    let listeners: Vec<Value> = listeners.collect();
    let clusters: Vec<Value> = kept.iter().map(|record| cluster(era, record)).collect();
    (!listeners.is_empty()).then(|| json!({"listeners": listeners, "clusters": clusters}))
}

/// Returns the path of a rewritten probe.
#[must_use]
pub(crate) fn probe_path(era: Era, slot: Slot, container: &str) -> String {
    match era {
        Era::PerContainer => format!("/osm-{}-probe/{container}", probe_kind(slot)),
        _ => format!("/osm-{}-probe", probe_kind(slot)),
    }
}

/// Returns the name of the cluster of a probe.
#[must_use]
pub(crate) fn cluster_name(era: Era, record: &Record) -> String {
    match era {
        Era::PerContainer => format!("{}_{}_cluster", record.container, probe_kind(record.slot)),
        _ => format!("{}_cluster", probe_kind(record.slot)),
    }
}

fn listener(era: Era, slot: Slot, records: &[&Record]) -> Option<Value> {
    if records.is_empty() {
        return None;
    }
    let mut tls = records
        .iter()
        .filter(|record| record.transport == Transport::Tls);
    // The last one in the loop over the containers; the order of that loop is random.
    let tls = tls.next_back();
    let http: Vec<&&Record> = records
        .iter()
        .filter(|record| record.transport == Transport::Http)
        .collect();
    let mut chains = Vec::new();
    if let Some(tls) = tls {
        chains.push(tcp_chain(era, tls));
    }
    if !http.is_empty() {
        chains.push(http_chain(era, &http));
    }
    let mut listener = json!({
        "name": format!("{}_listener", probe_kind(slot)),
        "address": address("0.0.0.0", listener_port(slot)?),
        "filter_chains": chains,
    });
    if era == Era::PerContainer
        && let Some(fields) = listener.as_object_mut()
    {
        let inspector = format!("{TYPES}.listener.tls_inspector.v3.TlsInspector");
        fields.insert(
            "listener_filters".to_owned(),
            json!([{"name": "tls_inspector", "typed_config": {"@type": inspector}}]),
        );
    }
    Some(listener)
}

fn tcp_chain(era: Era, record: &Record) -> Value {
    let is_new = era == Era::PerContainer;
    let prefix = if is_new {
        "health_probes_https"
    } else {
        "health_probes"
    };
    let filter = json!({
        "name": "tcp_proxy",
        "typed_config": {
            "@type": format!("{TYPES}.network.tcp_proxy.v3.TcpProxy"),
            "cluster": cluster_name(era, record),
            "stat_prefix": prefix,
        },
    });
    if is_new {
        json!({"filter_chain_match": {"transport_protocol": "tls"}, "filters": [filter]})
    } else {
        json!({"filters": [filter]})
    }
}

fn http_chain(era: Era, records: &[&&Record]) -> Value {
    let name = if era == Era::PerContainer {
        "envoy.filters.network.http_connection_manager"
    } else {
        "http_connection_manager"
    };
    let routes: Vec<Value> = records
        .iter()
        .map(|record| {
            json!({
                "match": {"prefix": probe_path(era, record.slot, &record.container)},
                "route": {
                    "cluster": cluster_name(era, record),
                    "prefix_rewrite": record.path,
                    "timeout": format!("{}s", timeout(era, record)),
                },
            })
        })
        .collect();
    json!({"filters": [{
        "name": name,
        "typed_config": {
            "@type": format!("{TYPES}.network.http_connection_manager.v3.HttpConnectionManager"),
            "stat_prefix": "health_probes_http",
            "route_config": {
                "name": "local_route",
                "virtual_hosts": [
                    {"name": "local_service", "domains": ["*"], "routes": routes},
                ],
            },
            "http_filters": [{
                "name": "http_router",
                "typed_config": {"@type": format!("{TYPES}.http.router.v3.Router")},
            }],
        },
    }]})
}

/// Returns the timeout of a request in seconds. The development head records the timeout of a probe without using it:
/// each request has one second, as the run shows.
const fn timeout(era: Era, record: &Record) -> i64 {
    match era {
        Era::PerContainer => 1,
        _ => record.timeout,
    }
}

fn cluster(era: Era, record: &Record) -> Value {
    let name = cluster_name(era, record);
    let endpoint = json!({"endpoint": {"address": address("127.0.0.1", record.port)}});
    json!({
        "name": name,
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [endpoint]}],
        },
    })
}

fn address(address: &str, port: i64) -> Value {
    json!({"socket_address": {"address": address, "port_value": port}})
}
