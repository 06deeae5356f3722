//! Pods of a mesh that is not Istio: what its model says, as predictions.

use crate::context::{Context, Dataplane, OtherPod};
use crate::finding::Certainty;
use crate::kube::{ContainerList, Port, Workload};
use crate::mesh::other::{Asked, Each, Effect, Meets, Membership, Treatment};
use crate::mesh::{Fact, Reason, Version};
use crate::source::placeholder;

use super::verdict::{self, pending};
use super::{Cause, HandlerPrediction, Outcome, Verdict, WorkloadPrediction};

/// Predicts the handlers of a pod of another mesh.
pub(super) fn handlers<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    other: &OtherPod<'_, 't>,
) -> Vec<HandlerPrediction<'t>> {
    let each = each(pod, other);
    let mut treatments = other
        .model
        .treat(&other.asked, other.membership.value, &each);
    let release = other.model.release(context.other_release(pod.mesh.value));
    let is_refused = other.membership.value == Membership::Refused;
    let elsewhere = match release.certainty {
        Certainty::Known => Vec::new(),
        _ => in_other_releases(other, &each),
    };
    let each = each.into_iter().zip(&mut treatments).enumerate();
    each.map(|(index, ((container, handler), treatment))| {
        let differs = elsewhere
            .iter()
            .find_map(|(release, is_refused, treatments)| {
                let there = treatments.get(index)?;
                (there.meets != treatment.meets).then_some((*release, *is_refused, there))
            });
        treatment.by_release |= differs.is_some();
        let mut prediction = HandlerPrediction {
            container,
            handler,
            rewritten: treatment.target.is_some(),
            port: treatment.port,
            captured: None,
            mtls: None,
            becomes: treatment.target.clone(),
            trail: treatment.trail.clone(),
            gap: None,
            otherwise: None,
            verdict: pending(),
        };
        prediction.verdict = judge(pod, &prediction, treatment, &release, is_refused);
        prediction.otherwise = differs.and_then(|(version, is_refused, there)| {
            let verdict = judge(pod, &prediction, there, &release, is_refused);
            let differs = (verdict.outcome, verdict.cause)
                != (prediction.verdict.outcome, prediction.verdict.cause);
            let mesh = pod.mesh.value.filter(|_| differs)?;
            Some(format!(
                "{} if the release is {}: {} [{}]",
                verdict.outcome.as_str(),
                other.model.name_of(version),
                verdict.cause.describe(),
                mesh.settle_release()
            ))
        });
        prediction
    })
    .collect()
}

/// What becomes of the handlers in releases that treat probes otherwise.
///
/// Each with the release, and whether the pod is refused there.
fn in_other_releases(
    other: &OtherPod<'_, '_>,
    each: &[Each<'_>],
) -> Vec<(Version, bool, Vec<Treatment>)> {
    let releases = other.model.other_releases().iter();
    releases
        .map(|release| {
            let asked = Asked {
                release: Some(*release),
                ..other.asked.clone()
            };
            let membership = other.model.membership(&asked).value;
            let treatments = other.model.treat(&asked, membership, each);
            (*release, membership == Membership::Refused, treatments)
        })
        .collect()
}

/// The handlers of a pod, but for those of the containers that the webhook adds.
fn each<'t>(pod: &WorkloadPrediction<'t>, other: &OtherPod<'_, 't>) -> Vec<Each<'t>> {
    let own = match other.membership.value {
        Membership::Brought => other.model.own_containers(),
        _ => &[],
    };
    let containers = pod.workload.template.containers().into_iter();
    let of_application =
        containers.filter(|one| one.list != ContainerList::Ephemeral && !own.contains(&one.name()));
    of_application
        .flat_map(|container| {
            let handlers = container.handlers();
            let each = handlers
                .into_iter()
                .map(|handler| (container.clone(), handler));
            each.collect::<Vec<_>>()
        })
        .collect()
}

fn judge(
    pod: &WorkloadPrediction<'_>,
    one: &HandlerPrediction<'_>,
    treatment: &Treatment,
    release: &Fact<Option<Version>>,
    is_refused: bool,
) -> Verdict {
    if let Some((outcome, cause)) = verdict::unreadable(one) {
        return said(outcome, cause);
    }
    let Some(action) = one.handler.action.as_ref().ok() else {
        return pending();
    };
    let Some(port) = action.port() else {
        return said(Outcome::Ok, Cause::NoNetwork);
    };
    if one.handler.slot.is_lifecycle() && action.key() == "tcpSocket" {
        return said(Outcome::BrokenWithoutMesh, Cause::HookUnsupported);
    }
    if let Some(verdict) = unresolved(&pod.workload, one, &port) {
        return verdict;
    }
    let mut verdict = match pod.dataplane.value {
        Dataplane::Unknown => said(Outcome::Unknown, Cause::MeshUnknown),
        _ => meets(pod, treatment, is_refused),
    };
    let mut rest_on = |certainty: Certainty, because: &[Reason]| {
        verdict.certainty = verdict.certainty.min(certainty);
        for reason in because {
            if !verdict.because.contains(reason) {
                verdict.because.push(reason.clone());
            }
        }
    };
    rest_on(treatment.certainty, &treatment.because);
    if treatment.by_release {
        rest_on(release.certainty, &release.because);
    }
    rest_on(pod.dataplane.certainty, &pod.dataplane.because);
    verdict
}

/// The name of the port leads nowhere: the kubelet and the webhook both give up.
fn unresolved(
    workload: &Workload<'_>,
    one: &HandlerPrediction<'_>,
    port: &Port,
) -> Option<Verdict> {
    if one.port.is_some() {
        return None;
    }
    if let Port::Name(name) = port
        && placeholder::contains(name)
    {
        return Some(said(Outcome::Unknown, Cause::Placeholder));
    }
    match verdict::resolve(port, &one.container, workload) {
        Err(Cause::Placeholder) => Some(said(Outcome::Unknown, Cause::Placeholder)),
        Err(cause) => Some(said(Outcome::BrokenWithoutMesh, cause)),
        Ok(_) => None,
    }
}

fn meets(pod: &WorkloadPrediction<'_>, treatment: &Treatment, is_refused: bool) -> Verdict {
    match treatment.meets {
        Meets::Trouble(trouble) => {
            let outcome = match trouble.effect() {
                Effect::Fails => Outcome::Fails,
                Effect::TestsOther => Outcome::TargetChanged,
            };
            said(outcome, Cause::Other(trouble))
        }
        _ if is_refused => said(Outcome::NotInMesh, Cause::PodRefused),
        _ if pod.dataplane.value == Dataplane::None => said(Outcome::NotInMesh, Cause::NoMesh),
        Meets::Nothing => said(Outcome::Ok, Cause::NoNetwork),
        Meets::Application => said(Outcome::Ok, Cause::PassedOn),
        Meets::Helper => said(Outcome::Ok, Cause::Helped),
        Meets::Direct => said(Outcome::Ok, Cause::NotCaptured),
        Meets::Elsewhere => said(Outcome::Ok, Cause::OtherHost),
        Meets::Unknown => Verdict {
            certainty: Certainty::Unknown,
            ..said(Outcome::Unknown, Cause::MeshDecides)
        },
        Meets::Accepted => said(Outcome::AlwaysPasses, Cause::SidecarAccepts),
    }
}

fn said(outcome: Outcome, cause: Cause) -> Verdict {
    Verdict {
        outcome,
        cause,
        certainty: Certainty::Known,
        ..pending()
    }
}
