//! How pods take part in OSM, and what its webhook adds to them.
//!
//! How OSM treats each probe of a pod.

use meshprobe_yaml::{FieldPath, NodeRef, Value};

use super::injected_pod::{
    InjectedPod, exclusion, names_port, network_action, points_at_proxy, unchanged,
};
use super::injection::{declares, has_container};
use super::keys::{
    ENVOY_CONTAINER, HEALTHCHECK_CONTAINER, HEALTHCHECK_IMAGE, HEALTHCHECK_PATH, HEALTHCHECK_PORT,
    PORTS, TCP_PORT_HEADER, listener_port, probe_kind,
};
use super::probes::{Era, Transport, kept, records};
use super::{faults, injection, probes};
use crate::finding::{Certainty, Label};
use crate::kube::{Container, ContainerList, Probe, ProbeHandler, Slot, Workload};
use crate::mesh::fact::{Fact, Reason};
use crate::mesh::model::{
    Addition, HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment,
    RewriteSupport, port_of,
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
        all(input, membership, handlers)
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
        if era < Era::PerKind {
            return None;
        }
        probes::bootstrap(era, &records(handlers))
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

/// Returns the treatment of each handler, in order.
pub(super) fn all(
    input: &PodInput<'_, '_>,
    membership: Membership,
    handlers: &[HandlerRef<'_>],
) -> Vec<ProbeTreatment> {
    if membership != Membership::Injected {
        return handlers
            .iter()
            .enumerate()
            .map(|(index, handler)| match membership {
                Membership::AlreadyInjected => injected_already(input, index, handlers, handler),
                _ => outside(input, handler),
            })
            .collect();
    }
    let records = records(handlers);
    let pod = InjectedPod {
        input,
        era: Era::of(input.release),
        records: &records,
    };
    handlers
        .iter()
        .enumerate()
        .map(|(index, handler)| pod.treatments(index, handler))
        .collect()
}

/// Judges a handler of a pod that is not injected: the mesh does not change it, but a pre-rewritten probe needs a
/// proxy. A pod with its own proxy declares the ports of that proxy.
fn outside(input: &PodInput<'_, '_>, handler: &HandlerRef<'_>) -> ProbeTreatment {
    let port = port_of(handler);
    let Some((action, number)) = network_action(handler) else {
        return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
    };
    let containers = input.workload.template.containers();
    let mut declared = containers.iter().flat_map(Container::ports);
    if points_at_proxy(action, number) && !declared.any(|port| port.number == Some(number)) {
        return ProbeTreatment::unchanged(port, ProbeDestination::Fault(&faults::WITHOUT_PROXY));
    }
    ProbeTreatment::unchanged(port, ProbeDestination::Nothing)
}

/// Judges a handler of a pod that was injected before it was written down: each probe needs its endpoint. The
/// order is that of OSM's troubleshooting guide.
fn injected_already(
    input: &PodInput<'_, '_>,
    index: usize,
    handlers: &[HandlerRef<'_>],
    handler: &HandlerRef<'_>,
) -> ProbeTreatment {
    let port = port_of(handler);
    let Some((action, number)) = network_action(handler) else {
        return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
    };
    let (destination, changed, endpoint) = endpoint(input, &handler.1, action, number);
    let mut treatment = ProbeTreatment::unchanged(port, destination);
    match destination {
        ProbeDestination::Direct => treatment.because.extend(exclusion(input, number)),
        ProbeDestination::Application => {
            let message =
                "the bootstrap Secret of the proxy contains the listener, but no manifest shows it";
            treatment.because.push(Reason::without_place(message, None));
            treatment.limit_certainty(Certainty::Assumed);
            if let Some(rival) =
                later_probe_of_listener(handler, handlers.get(index + 1..).unwrap_or_default())
            {
                treatment.destination = ProbeDestination::Fault(match action {
                    ProbeHandler::HttpGet(http) if http.scheme != "HTTP" => {
                        &faults::TLS_ANSWERED_BY_OTHER
                    }
                    _ => &faults::ANSWERED_BY_OTHER,
                });
                let message =
                    "this probe targets the same listener, which forwards only one of the two";
                let place = input.workload.object.label_at(rival.1.key.span(), message);
                treatment.because = vec![Reason::written(place)];
            }
        }
        _ => {}
    }
    treatment.explanation = vec![
        ("1. changed", changed),
        ("1. endpoint", endpoint),
        (
            "2. start",
            "then check the events of the pod: scheduling, images, init containers".to_owned(),
        ),
        (
            "3. app",
            "last, send a request to the application on 127.0.0.1, bypassing the proxy".to_owned(),
        ),
    ];
    treatment
}

/// Returns the probe of a later container that sends the same request to the same listener: up to 1.2, only the last
/// one is forwarded. A path of the development head contains the container name.
fn later_probe_of_listener<'a, 't>(
    handler: &HandlerRef<'t>,
    later: &'a [HandlerRef<'t>],
) -> Option<&'a HandlerRef<'t>> {
    let request = |handler: &HandlerRef<'_>| match &handler.1.action {
        Ok(ProbeHandler::HttpGet(http)) => {
            Some((port_of(handler), http.path.clone(), http.scheme.clone()))
        }
        _ => None,
    };
    let self_request = request(handler)?;
    let is_tls = self_request.2 != "HTTP";
    later.iter().find(|candidate| {
        let other_request = request(candidate);
        let is_same = other_request.as_ref() == Some(&self_request)
            || (is_tls
                && other_request.is_some_and(|other_request| {
                    (other_request.0, other_request.2) == (self_request.0, self_request.2.clone())
                }));
        is_same && candidate.0.within != handler.0.within && candidate.1.slot == handler.1.slot
    })
}

/// Returns the endpoint of a handler of an injected pod: the result, whether OSM changed the handler, and a
/// description of the endpoint.
fn endpoint(
    input: &PodInput<'_, '_>,
    handler: &Probe<'_>,
    action: &ProbeHandler,
    port: i64,
) -> (ProbeDestination, String, String) {
    let workload = input.workload;
    let text = |text: &str| text.to_owned();
    let ProbeHandler::HttpGet(http) = action else {
        return (
            unchanged(input, handler, action, port),
            text("no: OSM rewrites httpGet and tcpSocket to httpGet on 15901 to 15904"),
            format!("port {port} of the application, through the inbound listener"),
        );
    };
    if port == HEALTHCHECK_PORT {
        let has_helper = has_container(workload, HEALTHCHECK_CONTAINER);
        let port_header = http.headers.iter().find(|header| names_port(header));
        let destination = if has_helper && port_header.is_some() && http.path == HEALTHCHECK_PATH {
            ProbeDestination::Helper
        } else {
            ProbeDestination::Fault(&faults::NO_HELPER)
        };
        let (header, opens) = match port_header {
            Some((_, value)) => (
                format!("{TCP_PORT_HEADER}: {value}"),
                format!("it opens 127.0.0.1:{value}"),
            ),
            None => (
                format!("header {TCP_PORT_HEADER} contains no port"),
                format!("it answers 400 without a port in {TCP_PORT_HEADER}"),
            ),
        };
        let state = if has_helper { "exists" } else { "is missing" };
        return (
            destination,
            format!("yes: tcpSocket became httpGet {} ({header})", http.path),
            format!("container {HEALTHCHECK_CONTAINER} {state}; {opens}"),
        );
    }
    let listener = [Slot::Liveness, Slot::Readiness, Slot::Startup]
        .into_iter()
        .find(|slot| listener_port(*slot) == Some(port));
    let Some(slot) = listener else {
        return (
            unchanged(input, handler, action, port),
            text("no: httpGet is expected on 15901, 15902 or 15903"),
            format!("port {port} of the application, through the inbound listener"),
        );
    };
    // Each listener only accepts its own path, and OSM points each kind of probe at its own listener.
    let own_path = format!("/osm-{}-probe", probe_kind(slot));
    let is_routed = http.scheme != "HTTP" || http.path.starts_with(&own_path);
    let is_passed = slot == handler.slot && is_routed;
    let is_declared = declares(workload, ENVOY_CONTAINER, port);
    let destination = if is_passed && is_declared {
        ProbeDestination::Application
    } else {
        ProbeDestination::Fault(&faults::NO_LISTENER)
    };
    let changed = match listener_port(handler.slot) {
        Some(expected) if expected != port => {
            format!(
                "not by OSM: it is expected on {expected}; this is the port of another kind of \
                 probe"
            )
        }
        _ if http.scheme != "HTTP" => text("yes: only the port, because it uses HTTPS"),
        _ if is_routed => text("yes: port and path"),
        _ => format!("only the port: the expected path is {own_path}"),
    };
    let declared = if is_declared {
        "declares"
    } else {
        "does not declare"
    };
    (
        destination,
        changed,
        format!(
            "{}_listener on {port}; container {ENVOY_CONTAINER} {declared} that port; its \
             bootstrap Secret must contain the listener",
            probe_kind(slot)
        ),
    )
}
