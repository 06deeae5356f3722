//! The originals that OSM records, and which of them survive.

use crate::kube::{Action, ContainerList, Slot};
use crate::mesh::other::{Each, resolve};

use super::release::Era;

/// How a recorded probe is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// By HTTP, with the path put back.
    Http,
    /// As bytes, since TLS cannot be looked into: any scheme that is not `HTTP`.
    Tls,
    /// Not at all: the helper opens the connection.
    Tcp,
}

/// A probe as the webhook records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Which of the handlers it is.
    pub index: usize,
    /// The container.
    pub container: String,
    /// The kind of probe.
    pub slot: Slot,
    /// How it is passed on.
    pub transport: Transport,
    /// The path; empty for `tcpSocket`.
    pub path: String,
    /// The port; 0 where its name is declared nowhere in the container.
    pub port: i64,
    /// Seconds that a request of the proxy may take, at least 1.
    pub timeout: i64,
}

/// Returns the probes that the webhook looks at: those of `containers` that ask by HTTP or TCP,
/// but for those of its own containers.
#[must_use]
pub(crate) fn records(handlers: &[Each<'_>]) -> Vec<Record> {
    let each = handlers.iter().enumerate();
    each.filter_map(|(index, one)| record(index, one)).collect()
}

fn record(index: usize, (container, handler): &Each<'_>) -> Option<Record> {
    if handler.slot.is_lifecycle() || container.list != ContainerList::Main {
        return None;
    }
    let (transport, path) = match handler.action.as_ref().ok()? {
        Action::HttpGet(http) if http.scheme == "HTTP" => (Transport::Http, http.path.clone()),
        Action::HttpGet(http) => (Transport::Tls, http.path.clone()),
        Action::TcpSocket { .. } => (Transport::Tcp, String::new()),
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

/// Returns the records that are left at the end: up to 1.2 there is room for one of each kind in
/// a pod, and the last container wins.
pub(super) fn kept(era: Era, records: &[Record]) -> Vec<&Record> {
    if era == Era::PerContainer {
        return records.iter().collect();
    }
    let kinds = [Slot::Liveness, Slot::Readiness, Slot::Startup];
    let last = kinds.iter().filter_map(|slot| {
        let mut of_kind = records.iter().filter(|one| one.slot == *slot);
        of_kind.next_back()
    });
    last.collect()
}
