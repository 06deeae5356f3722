//! A `WorkloadGroup` for machines that run what pods run today: its probe is the pod's
//! readinessProbe, with the kubelet's defaults written out, since the agent has others.

use serde_yaml::{Mapping, Value as Yaml};

use crate::context::Context;
use crate::finding::Severity;
use crate::kube::{
    Action, Container, ContainerList, ContainerPort, Port, Slot, Unreadable, integer,
};
use crate::mesh::istio::vm;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::source::placeholder;
use crate::yaml::{NodeRef, Span};

use super::{Machines, Made, about};

/// A pod's readinessProbe that machines cannot have.
const NO_EQUIVALENT: &str = "vm-no-equivalent";

/// The kubelet's defaults (Kubernetes, `pkg/apis/core/v1/defaults.go`).
const KUBELET: [(&str, i64); 4] = [
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
];

/// Makes a `WorkloadGroup` for every workload with a readinessProbe that is to be reported on.
#[must_use]
pub(crate) fn workload_groups<'t>(
    context: &Context<'t>,
    predictions: &[WorkloadPrediction<'t>],
) -> Machines {
    let mut machines = Machines::default();
    for pod in predictions.iter().filter(|pod| pod.is_target) {
        let probes: Vec<&HandlerPrediction<'t>> = pod
            .handlers
            .iter()
            .filter(|one| one.handler.slot == Slot::Readiness)
            .filter(|one| one.container.list == ContainerList::Main)
            .collect();
        let Some((first, others)) = probes.split_first() else {
            continue;
        };
        let made = if let Some(second) = others.first() {
            let span = second.handler.key.span();
            Err(Reason::new(
                span,
                "several containers have a readinessProbe, and a machine has one check",
                "write one check that stands for all of them",
            ))
        } else if pod.is_rewritten_ahead() {
            Err(Reason::new(
                first.handler.key.span(),
                "its probes were rewritten ahead and ask the agent of a pod",
                "undo that first: `meshprobe rewrite --undo`",
            ))
        } else {
            probe(first)
        };
        match made {
            Ok(probe) => {
                let (namespace, is_written) = context.namespace_of(&pod.workload.object);
                let namespace = is_written.then_some(namespace);
                machines.made.push(group(pod, namespace, probe));
                machines.findings.extend(certificate(context, pod, first));
            }
            Err(reason) => {
                machines.refused += 1;
                let object = &pod.workload.object;
                let message = format!(
                    "no WorkloadGroup is made of {}: {}",
                    pod.workload.title(),
                    reason.message
                );
                let severity = Severity::Error;
                let mut finding = about(NO_EQUIVALENT, severity, object, reason.span, message);
                finding.help = Some(reason.help.to_owned());
                machines.findings.push(finding);
            }
        }
    }
    machines
}

/// Why a probe cannot be taken over.
struct Reason {
    span: Span,
    message: String,
    help: &'static str,
}

impl Reason {
    fn new(span: Span, message: impl Into<String>, help: &'static str) -> Self {
        Self {
            span,
            message: message.into(),
            help,
        }
    }
}

fn probe(one: &HandlerPrediction<'_>) -> Result<Mapping, Reason> {
    let handler = &one.handler;
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
    let (key, action) = action(one)?;
    probe.insert(key.into(), Yaml::Mapping(action));
    Ok(probe)
}

fn action(one: &HandlerPrediction<'_>) -> Result<(&'static str, Mapping), Reason> {
    let handler = &one.handler;
    let span = handler.kind_span();
    let action = handler.action.as_ref().map_err(|error| match error {
        Unreadable::Placeholder(span) => Reason::new(
            *span,
            "a value is filled in by another tool",
            "render it first",
        ),
        Unreadable::Malformed(error) => Reason::new(
            error.span,
            format!("the API server refuses its probe: {}", error.message),
            "mend it first: `meshprobe check` says how",
        ),
    })?;
    let mut fields = Mapping::new();
    let mut put = |key: &str, value: Yaml| {
        fields.insert(key.into(), value);
    };
    match action {
        Action::HttpGet(http) => {
            put("path", http.path.as_str().into());
            put("port", port(one)?.into());
            if let Some(host) = &http.host {
                put("host", host.as_str().into());
            }
            put("scheme", http.scheme.as_str().into());
            let headers: Vec<Yaml> = http.headers.iter().map(header).collect();
            if !headers.is_empty() {
                put("httpHeaders", Yaml::Sequence(headers));
            }
        }
        Action::TcpSocket { host, .. } => {
            if let Some(host) = host {
                put("host", host.as_str().into());
            }
            put("port", port(one)?.into());
        }
        Action::Exec => {
            let command = handler
                .node
                .get("exec")
                .and_then(|exec| exec.get("command"));
            let words = command.into_iter().flat_map(NodeRef::items);
            let words: Vec<Yaml> = words.filter_map(NodeRef::text).map(Yaml::from).collect();
            put("command", Yaml::Sequence(words));
        }
        Action::Grpc { .. } => {
            return Err(Reason::new(
                span,
                "its probe is a gRPC one, which istiod refuses for machines",
                "run grpc_health_probe by exec",
            ));
        }
        Action::Sleep | Action::Missing => {
            return Err(Reason::new(span, "its probe checks nothing", "add a check"));
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

fn port(one: &HandlerPrediction<'_>) -> Result<i64, Reason> {
    let span = one.handler.field_span("port");
    let written = one.handler.action.as_ref().ok().and_then(Action::port);
    if let Some(Port::Name(name)) = written
        && placeholder::contains(&name)
    {
        let said = "a value is filled in by another tool";
        return Err(Reason::new(span, said, "render it first"));
    }
    one.port
        .filter(|port| (1..=65535).contains(port))
        .ok_or_else(|| {
            Reason::new(
                span,
                "the port of its probe is no port of the container",
                "write the number of the port",
            )
        })
}

fn group(pod: &WorkloadPrediction<'_>, namespace: Option<&str>, probe: Mapping) -> Made {
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
    // Pods that name none run under this one.
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
    Made {
        namespace: namespace.unwrap_or_default().to_owned(),
        name: object.name().to_owned(),
        value: Yaml::Mapping(whole),
    }
}

fn labels(node: NodeRef<'_>) -> Mapping {
    let entries = node.entries();
    entries
        .filter_map(|label| Some((label.key.text()?.into(), label.value.text()?.into())))
        .collect()
}

/// The named ports; machines have no others. A `WorkloadEntry` has no protocols for them, and Istio
/// carries TCP alone.
fn ports(containers: &[Container<'_>]) -> Mapping {
    let ports = containers.iter().flat_map(Container::ports);
    let is_tcp = |port: &ContainerPort<'_>| {
        let protocol = port.node.get("protocol").and_then(NodeRef::text);
        protocol.is_none_or(|one| one == "TCP")
    };
    ports
        .filter(is_tcp)
        .filter_map(|port| Some((port.name?.into(), port.number?.into())))
        .collect()
}

/// The kubelet takes any certificate, the agent of a machine does not.
fn certificate<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    one: &HandlerPrediction<'t>,
) -> Option<crate::finding::Finding> {
    let object = &pod.workload.object;
    let Ok(Action::HttpGet(http)) = &one.handler.action else {
        return None;
    };
    let release = context.version_near(object);
    let verified = release.is_none_or(|release| release >= vm::HTTPS_VERIFIED_SINCE);
    if http.scheme != "HTTPS" || !verified {
        return None;
    }
    let message = format!(
        "the kubelet takes any certificate in the readinessProbe of {}, the agent of a machine \
         verifies it since {}: a self-signed one never passes",
        pod.workload.title(),
        vm::HTTPS_VERIFIED_SINCE,
    );
    let span = one.handler.field_span("scheme");
    let mut finding = about(
        "vm-https-verified",
        Severity::Warning,
        object,
        span,
        message,
    );
    finding.help = Some("check a port without TLS, or run `curl -fks` by exec".to_owned());
    Some(finding)
}
