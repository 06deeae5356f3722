//! Consul.

use meshprobe_mesh::finding::{Finding, Sentence};
use meshprobe_mesh::kube::{ContainerList, Object, ProbeHandler};
use meshprobe_mesh::mesh::consul::{OVERWRITE, SERVICE, TRANSPARENT, faults, several_services};
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    EXPOSE_OVERWRITTEN = "consul-expose-overwritten", Warning, fix: None, scope: Tree, check_expose_overwritten;
    EXPOSE_QUERY = "consul-expose-query", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &EXPOSE_QUERY, Mesh::CONSUL, &[
            (Cause::Other(&faults::QUERY_IN_PATH), "path",
            |_, _| "has a query in its path, which Consul matches as part of the path".into(),
            "use a path without a query"),
        ]);
    MULTIPORT_TPROXY = "consul-multiport-tproxy", Error, fix: None, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.mesh.value == Some(Mesh::CONSUL))
            .filter(|pod| cx.context.mesh_of(&pod.workload).is_refused()).filter_map(multiport_tproxy)
            .collect();
    PORT_NAME_SHARED = "consul-port-name-shared", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(port_name_shared);
    PROBE_NOT_REWRITTEN = "consul-probe-not-rewritten", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &PROBE_NOT_REWRITTEN, Mesh::CONSUL, &[
            (Cause::SidecarAccepts, "",
            |_, _| Sentence::verb(("always succeeds", "always succeed"), ": the proxy accepts every connection, and Consul rewrites only `httpGet`"),
            TO_HTTP),
            (Cause::Other(&shared_faults::GRPC_AT_MTLS), "",
            |_, _| "fails: it sends plain text, the port requires mutual TLS, and Consul rewrites only `httpGet`".into(),
            TO_HTTP),
            (Cause::Other(&faults::PLAIN_AT_MTLS), "",
            |_, handler| {
                let why = match handler.container.is_native_sidecar() {
                    true => "Consul does not rewrite probes of init containers",
                    false => "Consul leaves it unchanged",
                };
                format!("fails: it sends plain text, the port requires mutual TLS, and {why}").into()
            },
            TO_EXEC),
            (Cause::Other(&shared_faults::HOOK_AT_MTLS), "",
            |_, _| "fails: it sends plain text, the port requires mutual TLS, and Consul does not rewrite hooks".into(),
            TO_EXEC),
        ]);
    RESERVED_PORTS = "consul-reserved-ports", Error, fix: None, scope: Workloads,
        |cx| verdicts::proxy_ports(cx, &RESERVED_PORTS, (Mesh::CONSUL, Cause::Other(&shared_faults::PORT_OF_PROXY)),
            "set the port of the application; Consul rewrites the probe at admission");
}

fn check_expose_overwritten(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for pod in cx.predictions {
        if pod.mesh.value != Some(Mesh::CONSUL) {
            continue;
        }
        let findings = cx
            .context
            .mesh_of(&pod.workload)
            .objects(Mesh::CONSUL)
            .into_iter()
            .filter(|object| object.kind == "ServiceDefaults" && is_for(cx, object, pod))
            .filter_map(|object| expose_overwritten(pod, object));
        found.extend(findings);
    }
    // All pods of a service lose the same paths: report them once.
    let mut seen = Vec::new();
    found.retain(|finding| {
        let place = (finding.primary.path.clone(), finding.primary.span);
        let is_new = !seen.contains(&place);
        seen.push(place);
        is_new
    });
    found
}

/// Checks whether the object has the name of a service of the pod.
fn is_for(cx: &RuleContext<'_, '_>, object: &Object<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let name = object.name();
    if let Some(entry) = pod.workload.template.annotation(SERVICE) {
        let text = entry.value.text().unwrap_or_default();
        return text.split(',').any(|service| service.trim() == name);
    }
    let services = cx.context.services(&pod.workload).ports();
    services.iter().any(|(service, ..)| service.name() == name)
}

fn expose_overwritten(pod: &WorkloadPrediction<'_>, object: &Object<'_>) -> Option<Finding> {
    let probe = pod
        .handlers
        .iter()
        .find(|handler| handler.rewritten_to.is_some())?;
    let expose = object.node.get("spec")?.get("expose")?;
    let paths = expose.entry("paths")?;
    NodeRef::items(paths.value).next()?;
    let message = format!(
        "Consul ignores `expose.paths` of `{}`: the paths of rewritten probes replace them",
        object.name()
    );
    let mut finding = EXPOSE_OVERWRITTEN.finding_on_object(object, paths.key.span(), message);
    let title = probe.title();
    let key = probe.handler.key.span();
    let place = pod
        .workload
        .object
        .label_at(key, format!("{title} is rewritten"));
    finding.relate(place);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(format!(
        "turn the rewrite of probes off (`{OVERWRITE}: \"false\"`) and add the paths of the probes here, or \
         exclude the ports of these paths from capture"
    ));
    Some(finding)
}

fn multiport_tproxy(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let span = several_services(&pod.workload)?.value.span();
    let mut reasons = pod.dataplane.because.iter();
    let deciding = reasons.find_map(|reason| reason.place.as_ref())?;
    let annotation = pod.workload.object.label_at(span, "");
    if !deciding.is_at(&annotation) {
        return None;
    }
    let message = format!(
        "{} never starts: the webhook refuses the pod, because it has several services and the \
         transparent proxy is on",
        pod.workload.title()
    );
    let mut finding = MULTIPORT_TPROXY.finding_on_workload(&pod.workload, span, message);
    finding.depend_on(&pod.dataplane);
    finding.related.retain(|label| !label.is_at(&annotation));
    finding.help = Some(format!(
        "give the pod one service, or turn the transparent proxy off: `{TRANSPARENT}: \"false\"`"
    ));
    Some(finding)
}

fn port_name_shared(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(&faults::PORT_NAME_OF_OTHER_CONTAINER) {
        return None;
    }
    let name = handler
        .handler
        .action
        .as_ref()
        .ok()
        .and_then(ProbeHandler::port);
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    let containers = pod.workload.template.containers_in(ContainerList::Main);
    let other = containers.iter().find_map(|container| {
        let mut ports = container.ports();
        ports.find(|port| port.name == Some(name.as_str()))
    });
    let sentence = Sentence::verb(("checks", "check"), " ").port(
        handler.port.unwrap_or_default(),
        format!(
            " of another container: Consul resolves `{name}` to the first port of the pod \
     with this name"
        ),
    );
    let span = handler.handler.field_span("port");
    let mut finding = PORT_NAME_SHARED.finding_on_handler(pod, handler, span, sentence);
    if let Some(entry) = other.and_then(|port| port.node.entry("name")) {
        let object = &pod.workload.object;
        let place = object.label_at(entry.value.span(), "first port with this name");
        finding.related.insert(0, place);
    }
    finding.help =
        Some("give each port of the pod a unique name, or set the port number".to_owned());
    Some(finding)
}

const TO_HTTP: &str = "use `httpGet` or `exec`, or exclude the port from capture \
     (`consul.hashicorp.com/transparent-proxy-exclude-inbound-ports`)";
const TO_EXEC: &str = "use `exec`, or exclude the port from capture \
     (`consul.hashicorp.com/transparent-proxy-exclude-inbound-ports`)";
