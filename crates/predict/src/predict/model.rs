//! Predictions for pods of a mesh other than Istio, by the model of that mesh.

use meshprobe_mesh::finding::{Assumption, Certainty};
use meshprobe_mesh::kube::{
    Container, ContainerList, ContainerPort, Port, Probe, ProbeHandler, Workload,
};
use meshprobe_mesh::mesh::model::{
    HandlerRef, Membership, PodInput, ProbeDestination, ProbeTreatment,
};
use meshprobe_mesh::mesh::{FaultEffect, Reason, Version};
use meshprobe_tree::source::placeholder;

use super::cause::{Cause, Outcome};
use super::go_url::failed_request;
use super::prediction::{HandlerPrediction, Verdict, WorkloadPrediction, undecided, unreadable};
use crate::context::{Dataplane, OtherMeshPod};

/// Predicts the handlers of a pod of another mesh.
pub(super) fn handlers<'t>(
    pod: &WorkloadPrediction<'t>,
    other: &OtherMeshPod<'_, 't>,
) -> Vec<HandlerPrediction<'t>> {
    let each = own_handlers(pod, other);
    let mut treatments = other
        .model
        .treatments(&other.input, other.membership.value, &each);
    let is_refused = other.membership.value == Membership::Refused;
    let elsewhere = match pod.release.certainty {
        Certainty::Known => Vec::new(),
        _ => in_other_releases(other, &each),
    };
    each.into_iter()
        .zip(&mut treatments)
        .enumerate()
        .map(|(index, ((container, handler), treatment))| {
            let differs = elsewhere
                .iter()
                .find_map(|(release, is_refused, treatments)| {
                    let other_treatment = treatments.get(index)?;
                    (other_treatment.destination != treatment.destination).then_some((
                        *release,
                        *is_refused,
                        other_treatment,
                    ))
                });
            treatment.by_release |= differs.is_some();
            let mut prediction = HandlerPrediction {
                container,
                handler,
                rewritten: treatment.target.is_some(),
                port: treatment.port,
                captured: None,
                mtls: None,
                rewritten_to: treatment.target.clone(),
                explanation: treatment.explanation.clone(),
                unsupported: None,
                by_other_release: None,
                verdict: undecided(),
            };
            prediction.verdict = decide(pod, &prediction, treatment, is_refused);
            prediction.by_other_release =
                differs.and_then(|(version, is_refused, other_treatment)| {
                    let verdict = decide(pod, &prediction, other_treatment, is_refused);
                    let differs = (verdict.outcome, verdict.cause)
                        != (prediction.verdict.outcome, prediction.verdict.cause);
                    let mesh = pod.mesh.value.filter(|_| differs)?;
                    Some(Assumption {
                        fact: format!(
                            "{} if the release is {}: {}",
                            verdict.outcome.as_str(),
                            other.model.name_of(version),
                            verdict.cause.describe()
                        ),
                        option: Some(mesh.settle_release().into()),
                    })
                });
            prediction
        })
        .collect()
}

/// Returns the treatment of the handlers in releases that treat probes differently, each with the release
/// and whether it refuses the pod.
fn in_other_releases(
    other: &OtherMeshPod<'_, '_>,
    each: &[HandlerRef<'_>],
) -> Vec<(Version, bool, Vec<ProbeTreatment>)> {
    other
        .model
        .other_releases()
        .iter()
        .map(|release| {
            let asked = PodInput {
                release: Some(*release),
                ..other.input.clone()
            };
            let membership = other.model.membership(&asked).value;
            let treatments = other.model.treatments(&asked, membership, each);
            (*release, membership == Membership::Refused, treatments)
        })
        .collect()
}

/// Returns the handlers of a pod, without those of containers that the webhook adds.
fn own_handlers<'t>(
    pod: &WorkloadPrediction<'t>,
    other: &OtherMeshPod<'_, 't>,
) -> Vec<HandlerRef<'t>> {
    let own = match other.membership.value {
        Membership::AlreadyInjected => other.model.own_containers(),
        _ => &[],
    };
    let containers = pod.workload.template.containers().into_iter();
    let of_application = containers.filter(|container| {
        container.list != ContainerList::Ephemeral && !own.contains(&container.name())
    });
    of_application
        .flat_map(|container| {
            let handlers = container.handlers();
            handlers
                .into_iter()
                .map(|handler| (container.clone(), handler))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn decide(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    treatment: &ProbeTreatment,
    is_refused: bool,
) -> Verdict {
    if let Some(verdict) = unreadable(&pod.workload, handler) {
        return verdict;
    }
    let Some(action) = handler.handler.action.as_ref().ok() else {
        return undecided();
    };
    // The kubelet runs no probe of a pod that is not created.
    if !is_refused && let Some(verdict) = outside_mesh(&pod.workload, handler, action) {
        return verdict;
    }
    // A rewrite that only changes the port keeps the path.
    let keeps_path = |path: &str| {
        let target = treatment.target.as_ref();
        target.is_none_or(|target| target.path == path)
    };
    if !is_refused
        && let ProbeHandler::HttpGet(http) = action
        && keeps_path(&http.path)
        && failed_request(http).is_some()
    {
        return certain_verdict(Outcome::InvalidManifest, Cause::PathWithoutHost);
    }
    let mut verdict = match pod.dataplane.value {
        _ if is_refused => certain_verdict(Outcome::Refused, cause_of_refusal(treatment)),
        Dataplane::Unknown => certain_verdict(Outcome::Unknown, Cause::MeshUnknown),
        _ => verdict_at_destination(pod, treatment),
    };
    let mut depend_on = |certainty: Certainty, because: &[Reason]| {
        verdict.certainty = verdict.certainty.min(certainty);
        for reason in because {
            if !verdict.because.contains(reason) {
                verdict.because.push(reason.clone());
            }
        }
    };
    depend_on(treatment.certainty, &treatment.because);
    if treatment.by_release {
        depend_on(pod.release.certainty, &pod.release.because);
    }
    depend_on(pod.dataplane.certainty, &pod.dataplane.because);
    verdict
}

/// Returns why the webhook refuses the pod: a fault of this handler, or something else.
const fn cause_of_refusal(treatment: &ProbeTreatment) -> Cause {
    match treatment.destination {
        ProbeDestination::Fault(fault) => Cause::Other(fault),
        _ => Cause::PodRefused,
    }
}

/// Returns the verdict of a handler that the mesh does not affect.
fn outside_mesh(
    workload: &Workload<'_>,
    handler: &HandlerPrediction<'_>,
    action: &ProbeHandler,
) -> Option<Verdict> {
    let Some(port) = action.port() else {
        return Some(certain_verdict(Outcome::Ok, Cause::NoNetwork));
    };
    if handler.handler.slot.is_lifecycle() && action.key() == "tcpSocket" {
        let cause = Cause::HookUnsupported;
        return Some(certain_verdict(Outcome::InvalidManifest, cause));
    }
    unresolved(workload, handler, &port)
}

/// Returns the verdict of a handler whose port name does not resolve, so that neither the kubelet nor the
/// webhook can use it.
fn unresolved(
    workload: &Workload<'_>,
    handler: &HandlerPrediction<'_>,
    port: &Port,
) -> Option<Verdict> {
    if handler.port.is_some() {
        return None;
    }
    if let Port::Name(name) = port
        && placeholder::contains(name)
    {
        return Some(certain_verdict(Outcome::Unknown, Cause::Placeholder));
    }
    match resolve(port, &handler.container, workload) {
        Err(Cause::Placeholder) => Some(certain_verdict(Outcome::Unknown, Cause::Placeholder)),
        Err(cause) => Some(certain_verdict(Outcome::InvalidManifest, cause)),
        Ok(_) => None,
    }
}

fn verdict_at_destination(pod: &WorkloadPrediction<'_>, treatment: &ProbeTreatment) -> Verdict {
    match treatment.destination {
        ProbeDestination::Fault(fault) => {
            let outcome = match fault.effect {
                FaultEffect::Fails => Outcome::Fails,
                FaultEffect::ChecksOther => Outcome::TargetChanged,
            };
            certain_verdict(outcome, Cause::Other(fault))
        }
        _ if pod.dataplane.value == Dataplane::None => {
            certain_verdict(Outcome::NotInMesh, Cause::NoMesh)
        }
        ProbeDestination::Nothing => certain_verdict(Outcome::Ok, Cause::NoNetwork),
        ProbeDestination::Application => certain_verdict(Outcome::Ok, Cause::ForwardedByProxy),
        ProbeDestination::Helper => certain_verdict(Outcome::Ok, Cause::CheckedByHelper),
        ProbeDestination::Direct => certain_verdict(Outcome::Ok, Cause::NotCaptured),
        ProbeDestination::Elsewhere => certain_verdict(Outcome::Ok, Cause::OtherHost),
        ProbeDestination::Unknown => Verdict {
            certainty: Certainty::Unknown,
            ..certain_verdict(Outcome::Unknown, Cause::MeshDecides)
        },
        ProbeDestination::Accepted => certain_verdict(Outcome::AlwaysPasses, Cause::SidecarAccepts),
    }
}

fn certain_verdict(outcome: Outcome, cause: Cause) -> Verdict {
    Verdict {
        outcome,
        cause,
        certainty: Certainty::Known,
        ..undecided()
    }
}

/// Resolves a port to its number as the injector and the kubelet do: in the container's own
/// `ports`, any protocol, exact case. The API server refuses duplicates, of which the kubelet would take the first, and
/// the injector the last.
///
/// Sources: Kubernetes 1.37.2, `pkg/probe/util.go` (`findPortByName`); Istio 1.31, `pkg/kube/inject/app_probe.go`.
///
/// # Errors
///
/// Returns the cause if the port is a name without a known number.
pub(in crate::predict) fn resolve(
    port: &Port,
    container: &Container<'_>,
    workload: &Workload<'_>,
) -> Result<i64, Cause> {
    let name = match port {
        Port::Number(number) => return Ok(*number),
        Port::Name(name) => name,
    };
    if let Some(port) = declaration(container, name) {
        // Another tool fills in a missing number, or the API server rejects the declaration.
        return port.number.ok_or(Cause::Placeholder);
    }
    if name.parse::<i64>().is_ok() {
        return Err(Cause::PortQuoted);
    }
    if workload.template.index().declares_port(name) {
        return Err(Cause::PortOfOtherContainer);
    }
    Err(Cause::PortUnresolved)
}

/// Returns the first declaration of a port name in a container.
pub(in crate::predict) fn declaration<'t>(
    container: &Container<'t>,
    name: &str,
) -> Option<ContainerPort<'t>> {
    container.ports().find(|port| port.name == Some(name))
}

/// Returns the port number that a handler targets, if the port resolves to one.
#[must_use]
pub fn port_of<'t>(
    workload: &Workload<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> Option<i64> {
    let port = handler.action.as_ref().ok().and_then(ProbeHandler::port)?;
    resolve(&port, container, workload).ok()
}
