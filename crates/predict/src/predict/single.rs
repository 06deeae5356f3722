//! Predicts one workload from the facts of one context.

use meshprobe_mesh::kube::{Container, Port, Probe, QUEUE_PROXY, Workload, queue_proxy_request};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::annotations;
use meshprobe_mesh::mesh::istio::rewrite::agent_path;

use crate::context::{Context, Dataplane};
use crate::predict::handlers::{ephemeral_handlers, predicted_handlers};
use crate::predict::invalid_handler::leave_to_operator;
use crate::predict::istio::prober_env_fault::Reinjection;
use crate::predict::istio::start_order::capture;
use crate::predict::model;
use crate::predict::pod_security::reject_hosts;
use crate::predict::ports::port_of;
use crate::predict::prediction::{HandlerPrediction, RewrittenHandler, WorkloadPrediction};
use crate::predict::release_support::{is_supported, unsupported_by_release};

/// Predicts one workload under the assumption that `rewrite` applies to its pods.
#[must_use]
pub fn predict_with<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    let mut prediction = predict_if_admitted(context, workload, rewrite);
    reject_hosts(context, workload, &mut prediction.handlers);
    leave_to_operator(workload, &mut prediction.handlers);
    prediction
}

/// Predicts one workload whose pods the API server admits.
fn predict_if_admitted<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    let injection = context.istio(workload).injection().by_webhook();
    let mut prediction = WorkloadPrediction {
        workload: workload.clone(),
        is_target: true,
        namespace: context
            .namespace_of(&workload.object)
            .written_name()
            .map(str::to_owned),
        mesh: context.mesh_of(workload).decide(),
        claims: Vec::new(),
        passes_injector: matches!(injection.value, Dataplane::Sidecar | Dataplane::Uncaptured),
        dataplane: context
            .istio(workload)
            .injection()
            .dataplane_after(|| injection),
        rewrite,
        release: context.istio(workload).version(),
        status_port: context.istio(workload).ports().status(),
        agent_port: context.istio(workload).ports().agent(),
        status_port_captured: None,
        prober_env: context.istio(workload).rewriting().prober_env(),
        refused: None,
        prober_env_fault: None,
        reinjection: Reinjection::Untouched,
        handlers: Vec::new(),
    };
    if let Some(other) = context.mesh_of(workload).pod() {
        prediction.release = match prediction.mesh.value {
            Some(mesh) => context.mesh_release(mesh, &workload.object),
            None => other.model.release(None),
        };
        prediction.handlers = model::handlers(&prediction, &other);
        prediction.handlers.extend(ephemeral_handlers(workload));
        return prediction;
    }
    prediction.reinjection = crate::predict::istio::prober_env::reinjection(context, &prediction);
    if prediction.passes_injector {
        prediction.refused = refused(context, workload);
    }
    if prediction.dataplane.value.has_agent() {
        prediction.prober_env_fault =
            crate::predict::istio::prober_env::prober_env_fault(&prediction);
    }
    if prediction.dataplane.value == Dataplane::Sidecar {
        let captured = context
            .istio(workload)
            .ports()
            .capture(prediction.status_port.value);
        prediction.status_port_captured = Some(captured);
    }
    let handlers = predicted_handlers(workload)
        .into_iter()
        .map(|(container, handler)| predict_handler(context, &prediction, &container, handler));
    prediction.handlers = handlers.collect();
    prediction.handlers.extend(ephemeral_handlers(workload));
    prediction
}

/// Returns the first annotation for which the injector refuses the pods of a workload.
fn refused<'t>(context: &Context<'t>, workload: &Workload<'t>) -> Option<Fact<()>> {
    let release = context.istio(workload).version().value;
    let invalid = annotations::rejections_in(&workload.template, release).next();
    let Some(rejected) = invalid else {
        let fault = context.istio(workload).ports().scrape_fault()?;
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
        Some(change) => fact.depending_on(&context.istio(workload).has(change)),
        None => fact,
    })
}

/// Returns the port of queue-proxy, if Knative moves the probe there.
fn moved_to_queue_proxy(container: &Container<'_>, handler: &Probe<'_>) -> Option<Port> {
    let action = handler.action.as_ref().ok()?;
    queue_proxy_request(container.revision, handler.slot, action)?.port()
}

pub(in crate::predict) fn predict_handler<'t>(
    context: &Context<'t>,
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
        is_injected && pod.rewrite.value && is_supported(context, pod, container, &handler);
    let question = port.filter(|_| in_sidecar && !rewritten);
    let captured =
        question.map(|port| capture(context, &pod.workload, (container, handler.slot), port));
    let mtls = question
        .filter(|_| captured.as_ref().is_some_and(|captured| captured.value))
        .map(|port| context.istio(&pod.workload).mtls(port));
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
        unsupported: unsupported_by_release(context, pod, container, &handler),
        handler,
        rewritten,
        port,
        captured,
        mtls,
        rewritten_to,
        explanation: Vec::new(),
        by_other_release: None,
        verdict: crate::predict::verdict_builder::undecided(),
    };
    prediction.verdict = crate::predict::istio::verdict::decide(context, pod, &prediction);
    if let Some(port) = moved {
        let text =
            format!("the kubelet targets {QUEUE_PROXY} on port {port}, which checks the container");
        prediction.explanation.push(("knative", text));
    }
    prediction
}
