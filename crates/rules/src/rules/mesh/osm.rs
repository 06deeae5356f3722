//! Open Service Mesh.

use meshprobe_mesh::finding::{Finding, Sentence};
use meshprobe_mesh::kube::{Container, ContainerList, Object};
use meshprobe_mesh::mesh::osm::injection::invalid_annotation_values;
use meshprobe_mesh::mesh::osm::{Era, HEALTHCHECK_PORT, INJECTION, MONITORED, faults};
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;
use crate::rules::support::finding_builder::first_reported;
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    ALREADY_REWRITTEN = "osm-already-rewritten", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &ALREADY_REWRITTEN, Mesh::OSM, &[
            (Cause::Other(&faults::TARGETS_ITSELF), "port",
            |_, handler| {
                let why = match handler.port {
                    Some(HEALTHCHECK_PORT) => "OSM redirects it to the proxy and adds no helper that responds",
                    _ => "OSM records it as the original, so the proxy sends requests to itself",
                };
                format!("is already rewritten: {why}").into()
            },
            ALREADY_REWRITTEN_HELP),
            (Cause::Other(&faults::WITHOUT_PROXY), "port",
            |_, _| Sentence::verb(("targets", "target"), " the OSM proxy, which this pod does not have"),
            ALREADY_REWRITTEN_HELP),
        ]);
    ANNOTATION_VALUE = "osm-annotation-value", Error, fix: None, scope: Tree, check_annotation_value;
    ARCHIVED = "osm-archived", Note, fix: None, scope: Tree, archived;
    GRPC_PROBE = "osm-grpc-probe", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &GRPC_PROBE, Mesh::OSM, &[
            (Cause::Other(&shared_faults::GRPC_AT_MTLS), "",
            |_, _| Sentence::verb(("fails", "fail"), ": OSM does not rewrite gRPC probes, and the port requires mutual TLS"),
            "use `exec` with grpc_health_probe against 127.0.0.1, or exclude the port from capture"),
        ]);
    HTTP_HOST = "osm-http-host", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HTTP_HOST, Mesh::OSM, &[
            (Cause::Other(&shared_faults::HOST_KEPT), "host",
            |_, handler| {
                let port = handler.rewritten_to.as_ref().map_or(0, |rewritten_to| rewritten_to.port);
                format!("targets port {port} of its `host`, where no part of the pod listens").into()
            },
            "remove `host`; to send a host name to the application, set the header `Host`"),
        ]);
    HTTPS_COLLISION = "osm-https-collision", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HTTPS_COLLISION, Mesh::OSM, &[
            (Cause::Other(&faults::TLS_ANSWERED_BY_OTHER), "",
            |_, _| "shares a listener with the HTTPS probe of another container; OSM forwards only one HTTPS probe \
            per kind".into(),
            HTTPS_COLLISION_HELP),
            (Cause::Other(&faults::TLS_MIXED), "",
            |_, _| "shares a listener with a probe of the other scheme; OSM forwards only one HTTPS probe per kind".into(),
            HTTPS_COLLISION_HELP),
        ]);
    LIFECYCLE_HTTP = "osm-lifecycle-http", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &LIFECYCLE_HTTP, Mesh::OSM, &[
            (Cause::Other(&shared_faults::HOOK_AT_MTLS), "",
            |_, _| Sentence::verb(("fails", "fail"), ": OSM does not rewrite hooks, and the port requires mutual TLS"),
            "use `exec`, or exclude the port from capture"),
        ]);
    NATIVE_SIDECAR_DROPPED = "osm-native-sidecar-dropped", Error, fix: None, scope: Workloads,
        check_native_sidecar_dropped;
    PODIP_ONLY_APP = "osm-podip-only-app", Note, fix: None, scope: Workloads,
        |cx| cx.each_handler(podip_only_app);
    PROBE_COLLISION = "osm-probe-collision", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| probe_collision(cx, pod, handler));
    PROBE_NOT_CHANGED = "osm-probe-not-changed", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &PROBE_NOT_CHANGED, Mesh::OSM, &[
            (Cause::Other(&faults::NOT_CHANGED), "port",
            |_, _| "fails: OSM did not rewrite it, and the port requires mutual TLS".into(),
            "recreate the pod from its original manifest, so that the webhook processes the probe"),
        ]);
    PROBE_PORT_IN_USE = "osm-probe-port-in-use", Error, fix: None, scope: Workloads,
        |cx| verdicts::proxy_ports(cx, &PROBE_PORT_IN_USE, (Mesh::OSM, Cause::Other(&shared_faults::PORT_OF_PROXY)),
            "set a port of the application");
    PROBE_WITHOUT_ENDPOINT = "osm-probe-without-endpoint", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &PROBE_WITHOUT_ENDPOINT, Mesh::OSM, &[
            (Cause::Other(&faults::NO_LISTENER), "port",
            |_, _| "targets the proxy, which has no listener for it".into(),
            PROBE_WITHOUT_ENDPOINT_HELP),
            (Cause::Other(&faults::NO_HELPER), "port",
            |_, _| Sentence::verb(("targets", "target"), " the helper, which is missing or does not receive the port"),
            PROBE_WITHOUT_ENDPOINT_HELP),
        ]);
    TCP_HOST_LOST = "osm-tcp-host-lost", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &TCP_HOST_LOST, Mesh::OSM, &[
            (Cause::Other(&faults::HOST_LOST), "host",
            |_, _| "checks the pod itself: OSM drops `host` of a `tcpSocket`".into(),
            "remove `host` if the probe is for the pod itself, otherwise use `exec`"),
        ]);
    TCP_PROBE_ACCEPTED = "osm-tcp-probe-accepted", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &TCP_PROBE_ACCEPTED, Mesh::OSM, &[
            (Cause::SidecarAccepts, "",
            |_, _| Sentence::verb(("always succeeds", "always succeed"), ": the OSM proxy accepts every connection"),
            "use `httpGet` or `exec`, or upgrade OSM to 1.1 or later"),
        ]);
}

const ALREADY_REWRITTEN_HELP: &str =
    "set the port and path of the application; OSM rewrites them at admission";

fn check_annotation_value(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter(|pod| {
        pod.mesh.value == Some(Mesh::OSM) && cx.context.mesh_of(&pod.workload).is_refused()
    });
    let of_pods = pods.flat_map(|pod| {
        let refused = invalid_annotation_values(pod.workload.template.annotations());
        refused
            .into_iter()
            .map(move |(entry, why)| annotation_value(&pod.workload.object, &entry, &why))
    });
    let monitored = cx
        .namespaces()
        .filter(|namespace| namespace.label(MONITORED).is_some());
    let of_namespaces = monitored.flat_map(|namespace| {
        let annotations = namespace.metadata().and_then(|all| all.get("annotations"));
        // OSM reads the list of ports only on pods.
        let refused = invalid_annotation_values(annotations).into_iter();
        let refused = refused.filter(|(entry, _)| entry.key.text() == Some(INJECTION));
        refused.map(move |(entry, why)| annotation_value(namespace, &entry, &why))
    });
    of_pods.chain(of_namespaces).collect()
}

fn annotation_value(object: &Object<'_>, entry: &Entry<'_>, why: &str) -> Finding {
    let key = entry.key.text().unwrap_or_default();
    let message = format!("OSM refuses every pod with this value of `{key}`: {why}");
    let mut finding = ANNOTATION_VALUE.finding_on_object(object, entry.value.span(), message);
    finding.help = Some(if key == INJECTION {
        "set it to `enabled` or `disabled`".to_owned()
    } else {
        "list port numbers, separated by commas".to_owned()
    });
    finding
}

fn archived(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let monitored = cx.namespaces().filter_map(|namespace| {
        let span = namespace.label(MONITORED)?.key.span();
        let message = "Open Service Mesh was archived in July 2023 and no longer receives fixes";
        let mut finding = ARCHIVED.finding_on_object(namespace, span, message.to_owned());
        finding.help = Some("plan a migration to a maintained mesh".to_owned());
        Some(finding)
    });
    first_reported(cx, monitored).into_iter().collect()
}

const HTTPS_COLLISION_HELP: &str =
    "replace one of the probes with an `exec` probe that targets 127.0.0.1";

fn check_native_sidecar_dropped(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| {
            pod.mesh.value == Some(Mesh::OSM)
                && pod.dataplane.value == Dataplane::Other
                && !cx.context.mesh_of(&pod.workload).brings_proxy()
        })
        .flat_map(native_sidecar_dropped)
        .collect()
}

/// Returns one finding per probe of each native sidecar, which never runs; for a sidecar without probes,
/// one finding about the container.
fn native_sidecar_dropped(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let containers = pod.workload.template.containers_in(ContainerList::Init);
    let sidecars = containers
        .iter()
        .filter(|container| container.is_native_sidecar());
    let mut found = Vec::new();
    for sidecar in sidecars {
        let name = sidecar.name();
        let span = sidecar
            .node
            .entry("restartPolicy")
            .map(|entry| entry.key.span());
        let span = span.unwrap_or_else(|| sidecar.node.span());
        let message = format!(
            "init container `{name}` never ends: OSM drops its `restartPolicy`, so the pod hangs"
        );
        let probes = pod.handlers.iter().filter(|handler| {
            handler.container.name() == name
                && handler.verdict.cause == Cause::Other(&faults::NEVER_STARTS)
        });
        let before = found.len();
        found.extend(probes.map(|handler| {
            let sentence = Sentence {
                start: format!("{message} before "),
                ..Sentence::verb(("runs", "run"), "")
            };
            NATIVE_SIDECAR_DROPPED.finding_on_handler(pod, handler, span, sentence)
        }));
        if found.len() == before {
            let mut finding =
                NATIVE_SIDECAR_DROPPED.finding_on_workload(&pod.workload, span, message);
            finding.container = Some(name.to_owned());
            finding.depend_on(&pod.dataplane);
            found.push(finding);
        }
    }
    for finding in &mut found {
        finding.help = Some("make it a regular container, or exclude the pod from OSM".to_owned());
    }
    found
}

fn podip_only_app(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::OSM);
    if !is_osm
        || !matches!(
            handler.verdict.cause,
            Cause::ForwardedByProxy | Cause::CheckedByHelper
        )
    {
        return None;
    }
    let argument = listens_on_pod(&handler.container)?;
    let text = argument.text().unwrap_or_default();
    let sentence = Sentence::all(format!(
        "will target 127.0.0.1, but the application may listen only on the address of the pod (`{text}`)"
    ));
    let span = handler.handler.kind_span();
    let mut finding = PODIP_ONLY_APP.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    let listener = "this looks like the address to listen on";
    let place = pod.workload.object.label_at(argument.span(), listener);
    finding.related.insert(0, place);
    finding.help = Some("make the application listen on 0.0.0.0, or also on 127.0.0.1".to_owned());
    Some(finding)
}

/// Returns the argument that looks like the address of a listener and contains the address of the pod.
fn listens_on_pod<'t>(container: &Container<'t>) -> Option<NodeRef<'t>> {
    let items = |key: &str| container.node.get(key).into_iter().flat_map(NodeRef::items);
    let variables = items("env").filter_map(|variable| {
        let field = variable
            .get("valueFrom")?
            .get("fieldRef")?
            .get("fieldPath")?;
        (field.text() == Some("status.podIP")).then(|| variable.get("name")?.text())?
    });
    let references: Vec<String> = variables.map(|name| format!("$({name})")).collect();
    let mut arguments = items("command").chain(items("args"));
    arguments.find(|argument| {
        let text = argument.text().unwrap_or_default();
        let lower = text.to_lowercase();
        let names_listener = ["listen", "bind", "addr"]
            .iter()
            .any(|word| lower.contains(word));
        references.iter().any(|reference| {
            text.contains(reference.as_str())
                && (names_listener || text.contains(&format!("{reference}:")))
        })
    })
}

fn probe_collision(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let era = Era::of(cx.context.release_of(Mesh::OSM, &pod.workload.object));
    let Cause::Other(fault) = handler.verdict.cause else {
        return None;
    };
    let what = [
        (
            &faults::ANSWERED_BY_OTHER,
            "checks the target of another container's probe",
        ),
        (
            &faults::LISTENER_TAKEN,
            "has no listener: the last probe of its kind is a `tcpSocket`",
        ),
        (
            &faults::HELPER_TAKEN,
            "has no helper: the last probe of its kind is not a `tcpSocket`",
        ),
    ];
    let (_, what) = what.into_iter().find(|(known, _)| *known == fault)?;
    let (why, help) = match era {
        Era::PerContainer => (
            "the path for this container starts with that of the other",
            "rename the container so that its name does not start with that of another",
        ),
        _ => (
            "OSM forwards only one such probe per pod",
            "keep such a probe in one container only, or use `exec` in the others",
        ),
    };
    let sentence = Sentence::each(format!("{what}; {why}"));
    let span = handler.handler.kind_span();
    let mut finding = PROBE_COLLISION.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some(help.to_owned());
    Some(finding)
}

const PROBE_WITHOUT_ENDPOINT_HELP: &str =
    "recreate the pod from its original manifest; `predict --explain` shows what is expected";
