//! Open Service Mesh: releases 1.1 and 1.2, the development head after them, and what the older
//! ones did wrong. The project is archived since July 2023.
//!
//! Sources, of v1.2.4 unless another release is named: `pkg/injector/health_probes.go`,
//! `patch.go`, `webhook.go`, `envoy_config_health_probes.go`, `iptables.go`.

pub(crate) mod envoy;
pub(crate) mod injection;
mod probes;
mod release;
mod treat;

use crate::finding::Label;
use crate::kube::{ContainerList, Slot, Workload};
use crate::yaml::{NodeRef, Route, Value};

use super::other::{Addition, Asked, Each, Membership, Model, Shape, Treatment};
use super::{Fact, Version};

pub(crate) use probes::{Record, Transport, records};
pub(crate) use release::Era;

/// Volume of an injected pod; the webhook knows by it what it has seen before.
pub(crate) const BOOTSTRAP_VOLUME: &str = "envoy-bootstrap-config-volume";
/// The container that makes the checks of `tcpSocket` probes.
pub(crate) const HEALTHCHECK_CONTAINER: &str = "osm-healthcheck";
/// Its image in v1.2.4; the injector takes it from its own environment.
pub(crate) const HEALTHCHECK_IMAGE: &str = "openservicemesh/osm-healthcheck:v1.2.4";
/// Its port.
pub(crate) const HEALTHCHECK_PORT: i64 = 15904;
/// The path it answers on.
pub(crate) const HEALTHCHECK_PATH: &str = "/osm-healthcheck";
/// The header that names the port to try.
pub(crate) const TCP_PORT_HEADER: &str = "Original-Tcp-Port";
/// The proxy.
pub(crate) const ENVOY_CONTAINER: &str = "envoy";
/// Label of a Namespace that is monitored by a mesh of this name.
pub(crate) const MONITORED: &str = "openservicemesh.io/monitored-by";
/// Label of a Namespace that the webhook is to leave alone.
pub(crate) const IGNORE: &str = "openservicemesh.io/ignore";
/// Annotation of pods and Namespaces that switches injection.
pub(crate) const INJECTION: &str = "openservicemesh.io/sidecar-injection";
/// Annotation of pods with the ports that the redirect leaves alone.
pub(crate) const EXCLUDED_PORTS: &str = "openservicemesh.io/inbound-port-exclusion-list";

/// The ports of the proxy and what they are for.
const PORTS: [(i64, &str); 7] = [
    (15000, "the administration of Envoy"),
    (15003, "inbound traffic"),
    (15010, "metrics"),
    (15901, "liveness probes"),
    (15902, "readiness probes"),
    (15903, "startup probes"),
    (HEALTHCHECK_PORT, "tcpSocket probes"),
];

/// OSM.
#[derive(Debug)]
pub(crate) struct Osm;

impl Model for Osm {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release::fact(given)
    }

    fn other_releases(&self) -> &'static [Version] {
        const OTHERS: [Version; 3] = [Version::new(1, 0), Version::new(0, 8), release::HEAD];
        &OTHERS
    }

    fn name_of(&self, release: Version) -> String {
        match release {
            release::HEAD => format!("{release}, the development head"),
            _ => release.to_string(),
        }
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[ENVOY_CONTAINER, HEALTHCHECK_CONTAINER, "osm-init"]
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        injection::membership(asked)
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        treat::all(asked, membership, handlers)
    }

    fn shape(&self) -> Shape {
        Shape {
            oldest: Version::new(1, 1),
            why_not: "what it records lies in a Secret made at admission, so probes that were \
                      rewritten before make its proxy ask itself",
            caution: "the listeners and clusters behind the probes are made at admission \
                      (`--emit-envoy` prints them), and the image of the helper is that of v1.2.4",
        }
    }

    fn additions(
        &self,
        asked: &Asked<'_, '_>,
        handlers: &[Each<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        let records = records(handlers);
        let kept = probes::kept(Era::of(asked.release), &records);
        let has_tcp = kept.iter().any(|one| one.transport == Transport::Tcp);
        let helper = has_tcp.then(helper).map(Addition::Container);
        let dropped = native_sidecars(asked.workload).map(Addition::Removal);
        Ok(helper.into_iter().chain(dropped).collect())
    }

    fn has_bootstrap(&self) -> bool {
        true
    }

    fn proxy(&self, asked: &Asked<'_, '_>, handlers: &[Each<'_>]) -> Option<serde_json::Value> {
        let era = Era::of(asked.release);
        let bootstrap = envoy::bootstrap(era, &records(handlers));
        let is_empty = bootstrap.listeners.is_empty();
        (era >= Era::PerKind && !is_empty).then(|| {
            serde_json::json!({
                "listeners": bootstrap.listeners,
                "clusters": bootstrap.clusters,
            })
        })
    }

    fn port_owner(&self, port: i64) -> Option<&'static str> {
        let mut ports = PORTS.iter();
        ports.find(|(own, _)| *own == port).map(|(_, use_)| *use_)
    }
}

/// The `restartPolicy` of init containers: the webhook writes pods back as Kubernetes 1.26 knows
/// them, and drops it.
fn native_sidecars(workload: &Workload<'_>) -> impl Iterator<Item = Route> {
    let list = ContainerList::Init.key();
    let route = Route::keys(&["spec", list]);
    let containers = workload.template.spec.get(list);
    let containers = containers.into_iter().flat_map(NodeRef::items).enumerate();
    containers
        .filter(|(_, one)| one.get("restartPolicy").is_some())
        .map(move |(index, _)| route.child(index).child("restartPolicy"))
}

/// The container that makes the checks of `tcpSocket` probes, as `patch.go` writes it; its pull
/// policy is the injector's, which the chart sets to this.
fn helper() -> Value {
    let text = |text: &str| Value::from(text);
    let port = Value::Map(vec![(
        "containerPort".to_owned(),
        Value::Int(HEALTHCHECK_PORT),
    )]);
    let fields = [
        ("name", text(HEALTHCHECK_CONTAINER)),
        ("image", text(HEALTHCHECK_IMAGE)),
        ("imagePullPolicy", text("IfNotPresent")),
        ("command", Value::Seq(vec![text("/osm-healthcheck")])),
        ("args", Value::Seq(vec![text("--verbosity"), text("trace")])),
        ("ports", Value::Seq(vec![port])),
    ];
    let fields = fields.into_iter();
    Value::Map(fields.map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Returns the listener port for probes of a kind; hooks have none.
#[must_use]
pub(crate) const fn listener_port(slot: Slot) -> Option<i64> {
    match slot {
        Slot::Liveness => Some(15901),
        Slot::Readiness => Some(15902),
        Slot::Startup => Some(15903),
        Slot::PostStart | Slot::PreStop => None,
    }
}

/// Returns the word for a kind of probe in paths, listeners and clusters.
#[must_use]
pub(crate) const fn word(slot: Slot) -> &'static str {
    match slot {
        Slot::Liveness => "liveness",
        Slot::Readiness => "readiness",
        _ => "startup",
    }
}

/// Tells whether a path is one that OSM gives to probes, in any release.
#[must_use]
pub(crate) fn is_own_path(path: &str) -> bool {
    let kinds = [Slot::Liveness, Slot::Readiness, Slot::Startup];
    let is_kind = |slot: &Slot| {
        let rest = path.strip_prefix(&format!("/osm-{}-probe", word(*slot)));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path == HEALTHCHECK_PATH || kinds.iter().any(is_kind)
}

/// Tells whether the manifest carries a container of this name.
fn has_container(workload: &Workload<'_>, name: &str) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    containers.iter().any(|one| one.name() == name)
}

/// Tells whether the container declares a port, in any protocol.
fn declares(workload: &Workload<'_>, name: &str, port: i64) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    let mut named = containers.iter().filter(|one| one.name() == name);
    named.any(|one| one.ports().any(|declared| declared.number == Some(port)))
}

/// Returns the name node of the volume by which the webhook knows an injected pod.
fn bootstrap_volume<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let volumes = workload.template.spec.get("volumes")?;
    let mut names = volumes.items().filter_map(|volume| volume.get("name"));
    names.find(|name| name.text() == Some(BOOTSTRAP_VOLUME))
}
