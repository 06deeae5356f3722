//! Rules about the exceptions of PeerAuthentications for ports.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::from_ref;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Applicability, Finding, Fix, Label};
use meshprobe_mesh::kube::{Object, PeerAuthentication, ServicePort, integer, selects_workload};
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::{Context, Dataplane, PolicyScope};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Span, Value};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::keeping_comment;

crate::rules::rule::rules! {
    SERVICE_PORT = "peerauth-portlevel-service-port", Error, fix: Sometimes, scope: Tree,
        |cx| unmet_exceptions(cx).iter().filter_map(|exception| report_service_port(cx, exception)).collect();
    UNKNOWN_PORT = "peerauth-portlevel-unknown-port", Warning, fix: None, scope: Tree,
        |cx| unmet_exceptions(cx).iter()
            .filter(|exception| exception.service_ports.is_empty() && !exception.is_mentioned())
            .filter_map(unknown_port).collect();
    STALE_PROBE_EXCEPTION = "stale-probe-exception", Note, fix: None, scope: Tree, stale_probe_exception;
}

fn report_service_port<'t>(
    cx: &RuleContext<'_, 't>,
    exception: &Exception<'_, 't>,
) -> Option<Finding> {
    let (service, service_port, target) = exception.service_ports.first()?;
    let (policy, port) = (exception.policy, exception.port);
    let message = format!(
        "the exception for port {port} has no effect: `portLevelMtls` uses the ports of the pod, and \
         {port} is the port of Service `{}`, which targets {target}",
        service.name(),
    );
    let span = exception.entry.key.span();
    let mut finding = SERVICE_PORT.finding_on_object(policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let message = format!("port {port} of the Service targets port {target} of the pods");
    let service_port = service_port.node;
    let number = service_port.get("port").unwrap_or(service_port);
    finding.relate(service.label_at(number.span(), message));
    if let Some(pod) = exception.pods.first() {
        finding.cite(&cx.context.pod_facts(&pod.workload).mtls(*target));
    }
    finding.help = Some(format!("use {target}, the port of the pods"));
    finding.fix = fix(exception, *target);
    Some(finding)
}

fn fix(exception: &Exception<'_, '_>, target: i64) -> Option<Fix> {
    let entry = exception.entry;
    let mut targets = exception.service_ports.iter();
    let is_free = exception.siblings.iter().all(|port| *port != target);
    let only_mode = entry.value.effective_entries().len() == 1 && !entry.merged;
    if !only_mode || !is_free || targets.any(|(_, _, other)| *other != target) {
        return None;
    }
    let mode = entry.value.get("mode")?.text()?;
    let policy = exception.policy;
    let route = policy
        .route
        .join(&FieldPath::keys(&["spec", "portLevelMtls"]));
    let change = Change::replace(
        route.child(entry.key.text()?.to_owned()),
        target.to_string(),
        Value::Map(vec![("mode".to_owned(), Value::from(mode))]),
    );
    let wanted = Applicability::unsafe_because(format!(
        "the exception then takes effect on port {target} of the pods and changes which clients may connect"
    ));
    let degree = keeping_comment(entry, wanted);
    let title = format!("change the exception to port {target}");
    Some(Fix::of_object(policy, title, degree, vec![change]))
}

fn unknown_port(exception: &Exception<'_, '_>) -> Option<Finding> {
    let (policy, port) = (exception.policy, exception.port);
    let first = exception.pods.first()?;
    let subject = match exception.pods.len() {
        1 => format!("{} does not use", first.workload.title()),
        count => format!("none of the {count} selected workloads uses"),
    };
    let message = format!(
        "the exception for port {port} has no effect: {subject} this port, and no Service targets it"
    );
    let span = exception.entry.key.span();
    let mut finding = UNKNOWN_PORT.finding_on_object(policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let object = &first.workload.object;
    let message = "selected by the policy";
    finding.relate(object.label_at(object.name_span(), message));
    let help = "set the port that the container listens on, or declare the port under `ports` of the \
                container";
    finding.help = Some(help.to_owned());
    Some(finding)
}

/// Identifies an entry of a policy by the file and span of its mode.
type ModeLocation = (Arc<str>, Span);

/// A port for which no policy has an exception: its mode is the general mode of the pod.
const ANY_PORT: i64 = 0;

fn stale_probe_exception(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut stale: BTreeMap<ModeLocation, Finding> = BTreeMap::new();
    let mut needed: BTreeSet<ModeLocation> = BTreeSet::new();
    // Pods of context files also need their exceptions.
    for pod in cx.predictions {
        for handler in &pod.handlers {
            let Some((location, finding)) = exception(cx, pod, handler) else {
                continue;
            };
            match finding {
                Some(finding) => {
                    stale.entry(location).or_insert(finding);
                }
                None => {
                    needed.insert(location);
                }
            }
        }
    }
    stale.retain(|location, _| !needed.contains(location));
    stale.into_values().collect()
}

/// Returns the location of the exception that applies to a probe, and the finding unless a client needs the
/// exception.
fn exception<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<(ModeLocation, Option<Finding>)> {
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let workload = &pod.workload;
    let port = pod.application_port(handler)?;
    let mtls = cx.context.pod_facts(workload).mtls(port);
    let in_general = cx.context.pod_facts(workload).mtls(ANY_PORT);
    if mtls.value == MtlsMode::Strict || in_general.value != MtlsMode::Strict {
        return None;
    }
    let written = mtls.because.first()?.place.as_ref()?;
    let location = (Arc::clone(&written.path), written.span);
    let is_used = cx.context.services(workload).exposing(port).is_some();
    if is_used || handler.verdict.cause != Cause::Rewritten {
        return Some((location, None));
    }
    let (policy, mode) = cx
        .context
        .namespace_of(&workload.object)
        .facts(&cx.context.inventory.peer_authentications)
        .find_map(|policy| Some((policy, mode_at(policy, port, written)?)))?;
    let message = format!(
        "port {port} accepts plain text (`{}`), probably for the {}: the agent makes this check, which \
         does not need the exception",
        mtls.value.as_str(),
        handler.title(),
    );
    let mut finding = STALE_PROBE_EXCEPTION.finding_on_object(policy, mode.value.span(), message);
    let message = "the agent makes this check";
    let probe = workload
        .object
        .label_at(handler.handler.key.span(), message);
    finding.relate(probe);
    finding.depend_on(&in_general);
    finding.depend_on(&pod.dataplane);
    finding.help =
        Some("remove the exception, unless other clients use plain text on this port".to_owned());
    Some((location, Some(finding)))
}

/// Returns the mode of a policy for a port if `place` is its location.
fn mode_at<'t>(policy: &Object<'t>, port: i64, place: &Label) -> Option<Entry<'t>> {
    PeerAuthentication::of(policy)
        .ports()
        .filter(|exception| exception.port == Some(port))
        .filter_map(|exception| exception.mode)
        .find(|mode| policy.label_at(mode.value.span(), "").is_at(place))
}

/// An entry of `portLevelMtls` for a port that no selected pod is known to listen on.
struct Exception<'s, 't> {
    /// The policy.
    pub(super) policy: &'s Object<'t>,
    /// The entry.
    pub(super) entry: Entry<'t>,
    /// The port of the entry.
    pub(super) port: i64,
    /// All ports in `portLevelMtls` of the policy.
    pub(super) siblings: Rc<HashSet<i64>>,
    /// The pods that the policy selects and that are in the mesh.
    pub(super) pods: Rc<[&'s WorkloadPrediction<'t>]>,
    /// The numbers in the manifests of the pods, collected on first use.
    numbers: Rc<OnceCell<HashSet<&'t str>>>,
    /// The Service ports with this number, each with its Service and its target port.
    pub(super) service_ports: Vec<(&'s Object<'t>, ServicePort<'t>, i64)>,
}

/// Returns the exceptions for ports that no selected pod is known to listen on.
fn unmet_exceptions<'s, 't>(cx: &RuleContext<'s, 't>) -> Vec<Exception<'s, 't>> {
    let context = cx.context;
    let mut unmet = Vec::new();
    for policy in &context.inventory.peer_authentications {
        let view = PeerAuthentication::of(policy);
        if view.ports().next().is_none()
            || context.istio_policy(policy).scope() != PolicyScope::Workloads
        {
            continue;
        }
        let in_mesh = |pod: &&WorkloadPrediction<'_>| {
            matches!(
                pod.dataplane.value,
                Dataplane::Sidecar | Dataplane::Ambient | Dataplane::Uncaptured
            )
        };
        let reached = cx.workloads_of_policy(policy, PolicyScope::Workloads);
        let pods: Rc<[_]> = reached.into_iter().filter(in_mesh).collect();
        if pods.is_empty() {
            continue;
        }
        let siblings: Rc<HashSet<i64>> =
            Rc::new(view.ports().filter_map(|entry| entry.port).collect());
        let numbers = Rc::new(OnceCell::new());
        let by_number = service_ports(cx, &pods);
        let known = known_ports(cx, &pods, &by_number);
        for exception in view.ports() {
            let Some(port) = exception.port else { continue };
            let mode = exception.mode.and_then(|mode| mode.value.text());
            if mode.is_some_and(placeholder::contains) || known.contains(&port) {
                continue;
            }
            let service_ports = by_number.get(&Some(port)).into_iter().flatten();
            unmet.push(Exception {
                policy,
                entry: exception.entry,
                port,
                siblings: Rc::clone(&siblings),
                service_ports: service_ports
                    .filter_map(|(service, port, target)| Some((*service, *port, (*target)?)))
                    .collect(),
                pods: Rc::clone(&pods),
                numbers: Rc::clone(&numbers),
            });
        }
    }
    unmet
}

/// Service ports by their numbers, each with its Service and its target port.
type ServicePorts<'s, 't> =
    HashMap<Option<i64>, Vec<(&'s Object<'t>, ServicePort<'t>, Option<i64>)>>;

/// Collects the Service ports that target the pods; a port occurs once for each of its target ports.
fn service_ports<'s, 't>(
    cx: &RuleContext<'s, 't>,
    pods: &[&'s WorkloadPrediction<'t>],
) -> ServicePorts<'s, 't> {
    let (mut seen, mut listed) = (HashSet::new(), HashSet::new());
    let mut ports = ServicePorts::new();
    for pod in pods {
        let context: &'s Context<'t> = cx.context;
        for (service, port, target) in context.services(&pod.workload).unlisted_ports(&mut listed) {
            let key = (from_ref(service).addr(), port.node.id(), target);
            if seen.insert(key) {
                let known = ports.entry(port.port).or_default();
                known.push((service, port, target));
            }
        }
    }
    ports
}

/// Collects the ports that one of the pods listens on according to its containers, handlers, Sidecars and
/// Services.
fn known_ports<'t>(
    cx: &RuleContext<'_, 't>,
    pods: &[&WorkloadPrediction<'t>],
    service_ports: &ServicePorts<'_, 't>,
) -> HashSet<i64> {
    let context = cx.context;
    let mut known = HashSet::new();
    for pod in pods {
        let containers = pod.workload.template.containers();
        let declared = containers.iter().flat_map(|container| container.ports());
        known.extend(declared.filter_map(|port| port.number));
        known.extend(pod.handlers.iter().filter_map(|handler| handler.port));
        known.extend([pod.status_port.value, pod.agent_port.value]);
        let listeners = context
            .namespace_of(&pod.workload.object)
            .facts(&context.inventory.sidecar_resources)
            .filter(|sidecar| selects_workload(sidecar, &pod.workload))
            .filter_map(|sidecar| sidecar.node.get("spec")?.get("ingress"))
            .flat_map(NodeRef::items);
        let numbers =
            listeners.filter_map(|listener| listener.get("port")?.get("number").and_then(integer));
        known.extend(numbers);
    }
    // A target port whose name no container declares may be any port, so the number of the Service port counts.
    let service_ports = service_ports.values().flatten();
    known.extend(service_ports.filter_map(|(_, port, target)| target.or(port.port)));
    known
}

impl Exception<'_, '_> {
    /// Returns whether the number occurs anywhere in the manifests of the pods, such as in a command line, an
    /// environment variable or an annotation.
    pub(super) fn is_mentioned(&self) -> bool {
        let collect = || {
            let texts = self
                .pods
                .iter()
                .map(|pod| pod.workload.template.node.source());
            let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_digit()));
            words.filter(|word| !word.is_empty()).collect()
        };
        let numbers: &HashSet<&str> = self.numbers.get_or_init(collect);
        numbers.contains(self.port.to_string().as_str())
    }
}
