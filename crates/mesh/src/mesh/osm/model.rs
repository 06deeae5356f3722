//! How pods take part in OSM, and what its webhook adds to them.

use meshprobe_yaml::{FieldPath, NodeRef, Value};

use super::keys::{
    ENVOY_CONTAINER, HEALTHCHECK_CONTAINER, HEALTHCHECK_IMAGE, HEALTHCHECK_PORT, PORTS,
};
use super::probes::{Era, Transport, kept, records};
use super::{envoy, injection, probes, treatment};
use crate::finding::Label;
use crate::kube::{ContainerList, Workload};
use crate::mesh::fact::Fact;
use crate::mesh::model::{
    Addition, HandlerRef, Membership, MeshModel, PodInput, ProbeTreatment, RewriteSupport,
};
use crate::mesh::version::Version;

/// The model of OSM.
#[derive(Debug)]
pub(crate) struct Osm;

impl MeshModel for Osm {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        probes::fact(given)
    }

    fn other_releases(&self) -> &'static [Version] {
        const OTHERS: [Version; 3] = [Version::new(1, 0), Version::new(0, 8), probes::HEAD];
        &OTHERS
    }

    fn name_of(&self, release: Version) -> String {
        if release == probes::HEAD {
            format!("{release}, the development head")
        } else {
            release.to_string()
        }
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[ENVOY_CONTAINER, HEALTHCHECK_CONTAINER, "osm-init"]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        injection::membership(input)
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        treatment::all(input, membership, handlers)
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport {
            oldest: Version::new(1, 1),
            not_deployable: "it records probes in a Secret at admission, so pre-rewritten probes make \
                      its proxy send requests to itself",
            caution: "the listeners and clusters behind the probes are created at admission \
                      (`--emit-envoy` prints them), and the image of the helper is that of v1.2.4",
        }
    }

    fn additions(
        &self,
        input: &PodInput<'_, '_>,
        handlers: &[HandlerRef<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        let records = records(handlers);
        let kept = kept(Era::of(input.release), &records);
        let has_tcp = kept.iter().any(|record| record.transport == Transport::Tcp);
        let helper = has_tcp.then(helper_container).map(Addition::Container);
        let dropped = native_sidecars(input.workload).map(Addition::Removal);
        Ok(helper.into_iter().chain(dropped).collect())
    }

    fn has_bootstrap(&self) -> bool {
        true
    }

    fn bootstrap_config(
        &self,
        input: &PodInput<'_, '_>,
        handlers: &[HandlerRef<'_>],
    ) -> Option<serde_json::Value> {
        let era = Era::of(input.release);
        let bootstrap = envoy::bootstrap(era, &records(handlers));
        let is_empty = bootstrap.listeners.is_empty();
        (era >= Era::PerKind && !is_empty).then(|| {
            serde_json::json!({
                "listeners": bootstrap.listeners,
                "clusters": bootstrap.clusters,
            })
        })
    }

    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        PORTS
            .iter()
            .find(|(own, _)| *own == port)
            .map(|(_, use_)| *use_)
    }
}

/// Returns the routes of the `restartPolicy` of init containers. The webhook drops that field, because it writes pods
/// as Kubernetes 1.26 defines them.
fn native_sidecars(workload: &Workload<'_>) -> impl Iterator<Item = FieldPath> {
    let list = ContainerList::Init.key();
    let route = FieldPath::keys(&["spec", list]);
    let containers = workload.template.spec.get(list);
    containers
        .into_iter()
        .flat_map(NodeRef::items)
        .enumerate()
        .filter(|(_, container)| container.get("restartPolicy").is_some())
        .map(move |(index, _)| route.child(index).child("restartPolicy"))
}

/// Returns the container that performs the checks of `tcpSocket` probes, as `patch.go` writes it. Its pull
/// policy is that of the injector, which the chart sets to this value.
fn helper_container() -> Value {
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
    Value::Map(
        fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}
