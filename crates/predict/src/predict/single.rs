//! Predicts one workload from the facts of one context.

use meshprobe_mesh::finding::Assumption;
use meshprobe_mesh::kube::{
    Container, ContainerList, Port, Probe, QUEUE_PROXY, Workload, queue_proxy_request,
};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::rewrite::agent_path;
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_tree::source::placeholder;

use super::cause::{Cause, Outcome};
use super::istio::agent::capture;
use super::model;
use super::model::port_of;
use super::prediction::{
    HandlerPrediction, Reinjection, RewrittenHandler, VerdictBuilder, WorkloadPrediction,
    is_supported, leave_to_operator, unsupported_by_release,
};
use crate::context::{Context, Dataplane, PodFacts};

/// Predicts one workload under the assumption that `rewrite` applies to its pods.
#[must_use]
pub fn predict_with<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    predict_pod(&context.pod_facts(workload), rewrite)
}

/// Predicts one workload from its facts, under the assumption that `rewrite` applies to its pods.
pub(in crate::predict) fn predict_pod<'t>(
    facts: &PodFacts<'_, 't>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    let (context, workload) = (facts.context, facts.workload);
    let mut prediction = predict_if_admitted(facts, rewrite);
    reject_hosts(context, workload, &mut prediction.handlers);
    leave_to_operator(workload, &mut prediction.handlers);
    prediction
}

/// Predicts one workload whose pods the API server admits.
fn predict_if_admitted<'t>(
    facts: &PodFacts<'_, 't>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    let workload = facts.workload;
    let injection = facts.by_webhook();
    let mut prediction = WorkloadPrediction {
        workload: workload.clone(),
        is_target: true,
        namespace: facts
            .context
            .namespace_of(&workload.object)
            .written_name()
            .map(str::to_owned),
        mesh: facts.context.mesh_of(workload).decide(),
        claims: Vec::new(),
        passes_injector: matches!(injection.value, Dataplane::Sidecar | Dataplane::Uncaptured),
        dataplane: facts.dataplane_after(|| injection),
        rewrite,
        release: facts.version(),
        status_port: facts.status_port(),
        agent_port: facts.agent_port(),
        status_port_captured: None,
        prober_env: facts.prober_env(),
        refused: None,
        prober_env_fault: None,
        reinjection: Reinjection::Untouched,
        handlers: Vec::new(),
    };
    if let Some(other) = facts.context.mesh_of(workload).pod() {
        prediction.release = match prediction.mesh.value {
            Some(mesh) => facts.context.mesh_release(mesh, &workload.object),
            None => other.model.release(None),
        };
        prediction.handlers = model::handlers(&prediction, &other);
        prediction.handlers.extend(ephemeral_handlers(workload));
        return prediction;
    }
    prediction.reinjection = crate::predict::istio::prober_env::reinjection(facts, &prediction);
    if prediction.passes_injector {
        prediction.refused = refused(facts);
    }
    if prediction.dataplane.value.has_agent() {
        prediction.prober_env_fault =
            crate::predict::istio::prober_env::prober_env_fault(&prediction);
    }
    if prediction.dataplane.value == Dataplane::Sidecar {
        let captured = facts.capture(prediction.status_port.value);
        prediction.status_port_captured = Some(captured);
    }
    let handlers = predicted_handlers(workload)
        .into_iter()
        .map(|(container, handler)| predict_handler(facts, &prediction, &container, handler));
    prediction.handlers = handlers.collect();
    prediction.handlers.extend(ephemeral_handlers(workload));
    prediction
}

/// Returns the first annotation for which the injector refuses the pods of a workload.
fn refused(facts: &PodFacts<'_, '_>) -> Option<Fact<()>> {
    let workload = facts.workload;
    let release = facts.version().value;
    let invalid = annotations::rejections_in(&workload.template, release).next();
    let Some(rejected) = invalid else {
        let fault = facts.scrape_fault()?;
        return Some(fault.map(|_| ()));
    };
    let message = format!(
        "the injector refuses the pod: annotation `{}` is invalid ({})",
        rejected.entry.key.text().unwrap_or_default(),
        rejected.reason
    );
    let span = rejected.entry.value.span();
    let fact = Fact::known((), workload.object.label_at(span, message));
    Some(match rejected.since {
        Some(change) => fact.depending_on(&facts.has(change)),
        None => fact,
    })
}

/// Returns the port of queue-proxy, if Knative moves the probe there.
fn moved_to_queue_proxy(container: &Container<'_>, handler: &Probe<'_>) -> Option<Port> {
    let action = handler.action.as_ref().ok()?;
    queue_proxy_request(container.revision, handler.slot, action)?.port()
}

pub(in crate::predict) fn predict_handler<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: Probe<'t>,
) -> HandlerPrediction<'t> {
    let moved = moved_to_queue_proxy(container, &handler);
    let port = port_of(&pod.workload, container, &handler).map(|port| match &moved {
        Some(Port::Number(moved)) => *moved,
        _ => port,
    });
    let in_sidecar = pod.dataplane.value == Dataplane::Sidecar;
    let is_injected = pod.passes_injector;
    let rewritten =
        is_injected && pod.rewrite.value && is_supported(facts, pod, container, &handler);
    let question = port.filter(|_| in_sidecar && !rewritten);
    let captured = question.map(|port| capture(facts, (container, handler.slot), port));
    let mtls = question
        .filter(|_| captured.as_ref().is_some_and(|captured| captured.value))
        .map(|port| facts.mtls(port));
    let rewritten_to = rewritten.then(|| RewrittenHandler {
        path: match &moved {
            Some(_) => agent_path(QUEUE_PROXY, handler.slot),
            None => agent_path(container.name(), handler.slot),
        },
        port: pod.status_port.value,
        scheme: "HTTP",
        headers: None,
        drops_origin: false,
    });
    let mut prediction = HandlerPrediction {
        container: container.clone(),
        unsupported: unsupported_by_release(facts, pod, container, &handler),
        handler,
        rewritten,
        port,
        captured,
        mtls,
        rewritten_to,
        explanation: Vec::new(),
        by_other_release: None,
        verdict: super::prediction::undecided(),
    };
    prediction.verdict = crate::predict::istio::verdict::decide(facts, pod, &prediction);
    if let Some(port) = moved {
        let text =
            format!("the kubelet targets {QUEUE_PROXY} on port {port}, which checks the container");
        prediction.explanation.push(("knative", text));
    }
    prediction
}

/// Returns the handlers that the mesh can affect: those of the workload's own containers, except ephemeral ones.
#[must_use]
pub fn predicted_handlers<'t>(workload: &Workload<'t>) -> Vec<(Container<'t>, Probe<'t>)> {
    workload
        .template
        .containers()
        .into_iter()
        .filter(|container| {
            container.name() != keys::PROXY_CONTAINER && container.list != ContainerList::Ephemeral
        })
        .flat_map(|container| {
            container
                .handlers()
                .into_iter()
                .map(move |handler| (container.clone(), handler))
        })
        .collect()
}

/// Returns the handlers of ephemeral containers, all of which the API server refuses.
pub(in crate::predict) fn ephemeral_handlers<'t>(
    workload: &Workload<'t>,
) -> Vec<HandlerPrediction<'t>> {
    let containers = workload.template.containers_in(ContainerList::Ephemeral);
    let handlers = containers.into_iter().flat_map(|container| {
        let handlers = container.handlers();
        handlers.into_iter().map(move |handler| HandlerPrediction {
            container: container.clone(),
            handler,
            rewritten: false,
            unsupported: None,
            port: None,
            captured: None,
            mtls: None,
            rewritten_to: None,
            explanation: Vec::new(),
            by_other_release: None,
            verdict: VerdictBuilder::new().verdict(Outcome::Refused, Cause::Malformed),
        })
    });
    handlers.collect()
}

/// Replaces the verdicts of handlers that set `host`, if the API server certainly rejects their pod. If that is only
/// assumed, the verdicts stay, and the explanation names the other outcome.
pub(in crate::predict) fn reject_hosts<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    handlers: &mut [HandlerPrediction<'t>],
) {
    let mut setting = handlers
        .iter_mut()
        .filter(|handler| sets_host(handler))
        .peekable();
    if setting.peek().is_none() {
        return;
    }
    let Some(forbidden) = context.forbids_hosts(workload) else {
        return;
    };
    let is_open = !forbidden.is_proven_or_assumed_by_user();
    for handler in setting {
        if is_open {
            handler.by_other_release = otherwise(&forbidden);
            continue;
        }
        if handler.verdict.outcome != Outcome::Refused {
            let mut builder = VerdictBuilder::new();
            builder.depends_on(&forbidden);
            handler.verdict = builder.verdict(Outcome::Refused, Cause::HostForbidden);
        }
    }
}

/// Returns the outcome if the assumption holds, with the option that settles it.
fn otherwise(forbidden: &Fact<()>) -> Option<Assumption> {
    let mut because = forbidden.because.iter();
    let (assumption, settle) =
        because.find_map(|reason| Some((&reason.message, reason.settle?)))?;
    let (outcome, cause) = (Outcome::Refused.as_str(), Cause::HostForbidden.describe());
    Some(Assumption {
        fact: format!("{outcome} if {assumption}: {cause}"),
        option: Some(settle.into()),
    })
}

/// Returns whether a probe or hook certainly has a host when the API server checks the pod. Webhooks change the pod
/// before that.
pub fn sets_host(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let host = match handler.rewritten_to {
        Some(_) => handler.rewritten_host(),
        None => action.and_then(|action| action.host()),
    };
    host.is_some_and(|host| !host.is_empty() && !placeholder::contains(host))
}
