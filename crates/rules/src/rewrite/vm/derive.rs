//! Generates a `WorkloadGroup` for machines that run what pods run today. Its probe is the readinessProbe of the pod,
//! with the kubelet's defaults written out, because the agent has other defaults.

use meshprobe_mesh::finding::{GuardId, Severity, rule_id};
use meshprobe_mesh::kube::{
    Container, ContainerList, ContainerPort, Port, ProbeHandler, Slot, Unreadable, integer,
};
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction, path_on_machine};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{NodeRef, Span};
use serde_yaml::{Mapping, Value as Yaml};

use crate::rewrite::vm::{GeneratedDocument, VmDocuments, about};

/// The kubelet's defaults (Kubernetes, `pkg/apis/core/v1/defaults.go`).
const KUBELET: [(&str, i64); 4] = [
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
];

/// Generates a `WorkloadGroup` for every target workload with a readinessProbe.
#[must_use]
pub fn workload_groups<'t>(
    context: &Context<'t>,
    predictions: &[WorkloadPrediction<'t>],
) -> VmDocuments {
    let mut machines = VmDocuments::default();
    for pod in predictions.iter().filter(|pod| pod.is_target) {
        let probes: Vec<&HandlerPrediction<'t>> = pod
            .handlers
            .iter()
            .filter(|prediction| prediction.handler.slot == Slot::Readiness)
            .filter(|prediction| prediction.container.list == ContainerList::Main)
            .collect();
        let Some((first, others)) = probes.split_first() else {
            continue;
        };
        let made = if let Some(second) = others.first() {
            let span = second.handler.key.span();
            Err(NoEquivalent::new(
                span,
                "several containers have a readinessProbe, and a machine has one check",
                "write one check that covers all of them",
            ))
        } else if pod.is_prerewritten() {
            Err(NoEquivalent::new(
                first.handler.key.span(),
                "its probes are pre-rewritten and target the agent of a pod",
                "undo the rewrite first: `meshprobe rewrite --undo`",
            ))
        } else {
            probe(first)
        };
        match made {
            Ok(probe) => {
                let namespace = context.namespace_of(&pod.workload.object).written_name();
                machines.made.push(group(pod, namespace, probe));
                machines.findings.extend(certificate(context, pod, first));
            }
            Err(reason) => {
                machines.refused += 1;
                let object = &pod.workload.object;
                let message = format!(
                    "no WorkloadGroup is generated for {}: {}",
                    pod.workload.title(),
                    reason.message
                );
                let severity = Severity::Error;
                let mut finding = about(
                    GuardId::VM_NO_EQUIVALENT,
                    severity,
                    object,
                    reason.span,
                    message,
                );
                finding.help = Some(reason.help.to_owned());
                machines.findings.push(finding);
            }
        }
    }
    machines
}

/// The reason why a probe has no equivalent.
struct NoEquivalent {
    span: Span,
    message: String,
    help: &'static str,
}

impl NoEquivalent {
    fn new(span: Span, message: impl Into<String>, help: &'static str) -> Self {
        Self {
            span,
            message: message.into(),
            help,
        }
    }
}

fn probe(prediction: &HandlerPrediction<'_>) -> Result<Mapping, NoEquivalent> {
    let handler = &prediction.handler;
    let mut probe = Mapping::new();
    // A delay of 0 is the default of both.
    let delay = handler.node.get("initialDelaySeconds").and_then(integer);
    if let Some(delay) = delay.filter(|&seconds| seconds != 0) {
        probe.insert("initialDelaySeconds".into(), delay.into());
    }
    for (field, default) in KUBELET {
        let written = handler.node.get(field).and_then(integer);
        let number = written.filter(|&number| number != 0).unwrap_or(default);
        probe.insert(field.into(), number.into());
    }
    let (key, action) = action(prediction)?;
    probe.insert(key.into(), Yaml::Mapping(action));
    Ok(probe)
}

fn action(prediction: &HandlerPrediction<'_>) -> Result<(&'static str, Mapping), NoEquivalent> {
    let handler = &prediction.handler;
    let span = handler.kind_span();
    let action = handler.action.as_ref().map_err(|error| match error {
        Unreadable::Placeholder(span) => NoEquivalent::new(
            *span,
            "a value is filled in by another tool",
            "render the manifest first",
        ),
        Unreadable::Malformed(error) => NoEquivalent::new(
            error.span,
            format!("the API server rejects its probe: {}", error.message),
            "fix it first: `meshprobe check` shows how",
        ),
    })?;
    let mut fields = Mapping::new();
    let mut put = |key: &str, value: Yaml| {
        fields.insert(key.into(), value);
    };
    match action {
        ProbeHandler::HttpGet(http) => {
            put("path", path_on_machine(&http.path).as_ref().into());
            put("port", port(prediction)?.into());
            if let Some(host) = &http.host {
                put("host", host.as_str().into());
            }
            put("scheme", http.scheme.as_str().into());
            let headers: Vec<Yaml> = http.headers.iter().map(header).collect();
            if !headers.is_empty() {
                put("httpHeaders", Yaml::Sequence(headers));
            }
        }
        ProbeHandler::TcpSocket { host, .. } => {
            if let Some(host) = host {
                put("host", host.as_str().into());
            }
            put("port", port(prediction)?.into());
        }
        ProbeHandler::Exec => {
            let command = handler
                .node
                .get("exec")
                .and_then(|exec| exec.get("command"));
            let words: Vec<Yaml> = command
                .into_iter()
                .flat_map(NodeRef::items)
                .filter_map(NodeRef::text)
                .map(Yaml::from)
                .collect();
            put("command", Yaml::Sequence(words));
        }
        ProbeHandler::Grpc { .. } => {
            return Err(NoEquivalent::new(
                span,
                "its probe uses gRPC, which istiod rejects for virtual machines",
                "run `grpc_health_probe` with `exec`",
            ));
        }
        ProbeHandler::Sleep | ProbeHandler::Missing => {
            return Err(NoEquivalent::new(
                span,
                "its probe checks nothing",
                "add a check",
            ));
        }
    }
    Ok((action.key(), fields))
}

fn header((name, value): &(String, String)) -> Yaml {
    let mut header = Mapping::new();
    header.insert("name".into(), name.as_str().into());
    header.insert("value".into(), value.as_str().into());
    Yaml::Mapping(header)
}

fn port(prediction: &HandlerPrediction<'_>) -> Result<i64, NoEquivalent> {
    let span = prediction.handler.field_span("port");
    let written = prediction
        .handler
        .action
        .as_ref()
        .ok()
        .and_then(ProbeHandler::port);
    if let Some(Port::Name(name)) = written
        && placeholder::contains(&name)
    {
        let message = "a value is filled in by another tool";
        return Err(NoEquivalent::new(
            span,
            message,
            "render the manifest first",
        ));
    }
    prediction
        .port
        .filter(|port| (1..=65535).contains(port))
        .ok_or_else(|| {
            NoEquivalent::new(
                span,
                "the port of its probe is not a port of the container",
                "write the number of the port",
            )
        })
}

fn group(
    pod: &WorkloadPrediction<'_>,
    namespace: Option<&str>,
    probe: Mapping,
) -> GeneratedDocument {
    let object = &pod.workload.object;
    let template = &pod.workload.template;
    let text = |key: &str| template.spec.get(key).and_then(NodeRef::text);
    let mut metadata = Mapping::new();
    metadata.insert("name".into(), object.name().into());
    if let Some(namespace) = namespace {
        metadata.insert("namespace".into(), namespace.into());
    }
    let mut machine = Mapping::new();
    let ports = ports(&template.containers_in(ContainerList::Main));
    if !ports.is_empty() {
        machine.insert("ports".into(), Yaml::Mapping(ports));
    }
    // Pods that name no service account run under this one.
    let account = text("serviceAccountName").or_else(|| text("serviceAccount"));
    let account = account.unwrap_or("default");
    machine.insert("serviceAccount".into(), account.into());
    let mut spec = Mapping::new();
    let labels = template.labels().map(labels).unwrap_or_default();
    if !labels.is_empty() {
        let mut of_entries = Mapping::new();
        of_entries.insert("labels".into(), Yaml::Mapping(labels));
        spec.insert("metadata".into(), Yaml::Mapping(of_entries));
    }
    spec.insert("template".into(), Yaml::Mapping(machine));
    spec.insert("probe".into(), Yaml::Mapping(probe));
    let mut whole = Mapping::new();
    whole.insert("apiVersion".into(), "networking.istio.io/v1".into());
    whole.insert("kind".into(), "WorkloadGroup".into());
    whole.insert("metadata".into(), Yaml::Mapping(metadata));
    whole.insert("spec".into(), Yaml::Mapping(spec));
    GeneratedDocument {
        namespace: namespace.unwrap_or_default().to_owned(),
        name: object.name().to_owned(),
        value: Yaml::Mapping(whole),
    }
}

fn labels(node: NodeRef<'_>) -> Mapping {
    node.entries()
        .filter_map(|label| Some((label.key.text()?.into(), label.value.text()?.into())))
        .collect()
}

/// Returns the named ports, because virtual machines have no others. A `WorkloadEntry` has no protocols for them, and
/// Istio only carries TCP.
fn ports(containers: &[Container<'_>]) -> Mapping {
    let ports = containers.iter().flat_map(Container::ports);
    let is_tcp = |port: &ContainerPort<'_>| {
        let protocol = port.node.get("protocol").and_then(NodeRef::text);
        protocol.is_none_or(|protocol| protocol == "TCP")
    };
    ports
        .filter(is_tcp)
        .filter_map(|port| Some((port.name?.into(), port.number?.into())))
        .collect()
}

/// Warns that the agent of a virtual machine verifies the certificate, which the kubelet does not.
fn certificate<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    prediction: &HandlerPrediction<'t>,
) -> Option<meshprobe_mesh::finding::Finding> {
    let object = &pod.workload.object;
    let Ok(ProbeHandler::HttpGet(http)) = &prediction.handler.action else {
        return None;
    };
    let release = context.istio_near(object).version();
    let is_verified = release.is_none_or(|release| release >= vm::HTTPS_VERIFIED_SINCE);
    if http.scheme != "HTTPS" || !is_verified {
        return None;
    }
    let message = format!(
        "the kubelet accepts any certificate in the readinessProbe of {}, but the agent of a \
         virtual machine verifies it since {}: a self-signed certificate never passes",
        pod.workload.title(),
        vm::HTTPS_VERIFIED_SINCE,
    );
    let span = prediction.handler.field_span("scheme");
    let mut finding = about(
        rule_id!("vm-https-verified"),
        Severity::Warning,
        object,
        span,
        message,
    );
    finding.help = Some("check a port without TLS, or run `curl -fks` with `exec`".to_owned());
    Some(finding)
}
