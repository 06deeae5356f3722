//! The annotations of a pod from which Prometheus learns where to collect metrics, as the injector validates them.
//!
//! Since 1.31 the injector refuses a pod if it cannot merge the metrics of the application with those of the sidecar.
//! Source: Istio 1.31, `applyPrometheusMerge` in `pkg/kube/inject/webhook.go`, `ParseScrapeTargets` and
//! `IstioReservedPortReason` in `pilot/cmd/pilot-agent/status/server.go`.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::annotations::is_replacement_name;
use super::keys;
use super::rewrite::parse_bool;
use crate::kube::PodTemplate;
use crate::mesh::Version;

/// The first release that refuses such pods.
pub const PORTS_CHECKED: Version = Version::new(1, 31);

const SCRAPE: &str = "prometheus_io_scrape";
const PORT: &str = "prometheus_io_port";
const TARGETS: &str = "prometheus_istio_io_scrape_targets";

/// The ports of the sidecar and of the agent, and what they serve.
const RESERVED: [(i64, &str); 9] = [
    (15000, "the admin interface of Envoy"),
    (15001, "the capture of outbound traffic"),
    (15004, "debugging"),
    (15006, "the capture of inbound traffic"),
    (15008, "HBONE"),
    (15020, "the agent"),
    (15021, "the health check of Envoy"),
    (15053, "DNS"),
    (15090, "the metrics of Envoy, which are merged anyway"),
];

/// An annotation because of which the injector refuses the pods of a template.
#[derive(Clone, Debug)]
pub struct ScrapeFault<'t> {
    /// The annotation.
    pub entry: Entry<'t>,
    /// The reason, in a few words.
    pub reason: String,
    /// Whether the reason depends on the port of the agent.
    pub is_of_agent: bool,
}

/// Returns whether the pod itself switches the merging of metrics on or off; `None` if it leaves that to the mesh.
pub fn merge_of_pod(template: &PodTemplate<'_>) -> Option<bool> {
    parse_bool(template.annotation(keys::MERGE_METRICS)?.value.as_str()?)
}

/// Returns the annotation because of which the injector refuses the pods of a template, if it merges metrics. `agent` is
/// the status port of the mesh.
///
/// The injector accepts several spellings of a key, and reads them in a random order. Only a pod that it refuses in any
/// order has a fault. Values that another tool fills in have none.
pub fn scrape_fault<'t>(template: &PodTemplate<'t>, agent: i64) -> Option<ScrapeFault<'t>> {
    // The injector skips a value that is not a boolean.
    let may_be_off = |entry: Entry<'t>| {
        let value = entry.value.as_str();
        value.is_none_or(|value| placeholder::contains(value) || parse_bool(value) == Some(false))
    };
    if named(template, SCRAPE).any(may_be_off) {
        return None;
    }
    let ports: Vec<Entry<'t>> = named(template, PORT).collect();
    let own = agent.to_string();
    // The injector takes such a pod for one that it has injected before.
    if ports.iter().any(|entry| entry.value.as_str() == Some(&own)) {
        return None;
    }
    let targets: Vec<Entry<'t>> = named(template, TARGETS).collect();
    match targets.as_slice() {
        [] => fault_of_all(&ports, agent),
        [entry] => match parse_targets(entry.value.as_str()?) {
            Some(targets) => targets
                .into_iter()
                .find_map(|port| fault(*entry, port, agent)),
            None => fault_of_all(&ports, agent),
        },
        _ => None,
    }
}

/// Returns the annotations whose key is `name` after the injector has replaced its punctuation.
fn named<'t>(template: &PodTemplate<'t>, name: &str) -> impl Iterator<Item = Entry<'t>> {
    let annotations = template.annotations().into_iter();
    annotations
        .flat_map(NodeRef::effective_entries)
        .filter(move |entry| {
            let key = entry.key.text().unwrap_or_default();
            let replaced = key.chars().map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' => c,
                _ => '_',
            });
            replaced.eq(name.chars())
        })
}

/// Returns the fault of the first of several ports; `None` if one of them has none.
fn fault_of_all<'t>(ports: &[Entry<'t>], agent: i64) -> Option<ScrapeFault<'t>> {
    let faults = ports.iter().map(|entry| {
        let port = entry.value.as_str().filter(|port| !port.is_empty())?;
        fault(*entry, port, agent)
    });
    faults.collect::<Option<Vec<_>>>()?.into_iter().next()
}

fn fault<'t>(entry: Entry<'t>, port: &str, agent: i64) -> Option<ScrapeFault<'t>> {
    let key = entry.key.text().unwrap_or_default();
    if placeholder::contains(port) || is_replacement_name(key, port) {
        return None;
    }
    let number = port.parse::<i64>();
    let reason = match number {
        Ok(number) if number == agent => format!("port {number} is the port of the agent"),
        Ok(number @ 1..=65535) => {
            let (_, use_of_port) = RESERVED.iter().find(|(reserved, _)| *reserved == number)?;
            format!("port {number} is reserved for {use_of_port}")
        }
        _ => format!("`{port}` is not a port number"),
    };
    Some(ScrapeFault {
        entry,
        reason,
        is_of_agent: number.is_ok(),
    })
}

/// Returns the ports of a list such as `8080:/metrics, 9090`; `None` if the injector ignores the list, because it is
/// empty, or one of its entries has no port.
fn parse_targets(list: &str) -> Option<Vec<&str>> {
    let entries = list.split(',').map(str::trim);
    let ports = entries.filter(|entry| !entry.is_empty()).map(|entry| {
        let port = entry.split(':').next().unwrap_or_default().trim();
        (!port.is_empty()).then_some(port)
    });
    let ports: Vec<&str> = ports.collect::<Option<_>>()?;
    (!ports.is_empty()).then_some(ports)
}
