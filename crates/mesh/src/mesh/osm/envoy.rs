//! The static listeners and clusters that OSM writes into the bootstrap of a pod's Envoy.
//!
//! Source: `pkg/envoy/bootstrap/envoy_config_health_probes.go` of v1.2.4 and of the development head;
//! compared with the output of that code.

use serde_json::{Value, json};

use super::keys::{listener_port, probe_kind};
use super::probes::{Era, Record, Transport, kept};
use crate::kube::Slot;

/// The configuration in the bootstrap for the probes of one pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bootstrap {
    /// One listener for each kind of probe.
    pub listeners: Vec<Value>,
    /// One cluster for each probe that is forwarded.
    pub clusters: Vec<Value>,
}

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters";

/// Returns the listeners and clusters for the probes of a pod.
#[must_use]
pub(crate) fn bootstrap(era: Era, records: &[Record]) -> Bootstrap {
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
    Bootstrap {
        listeners: listeners.collect(),
        clusters: kept.iter().map(|record| cluster(era, record)).collect(),
    }
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
