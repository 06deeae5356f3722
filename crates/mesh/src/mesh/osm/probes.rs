//! The original probes that OSM records, and which of them are kept.
//!
//! Ranges of releases with the same behaviour.

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
