//! The form `container-only`: a partial container without the opt-out. The webhook still rewrites probes. If it
//! records any, it appends a second env, which takes precedence over the env of the manifest.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::{Port, ProbeHandler};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::{HOOKS, is_agent_path, rewritten_since};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Entry, NodeRef, Span};

use crate::rewrite::plan::{GuardFailure, refuse};

/// Returns a refusal for everything that would make the injector record a probe.
pub(super) fn refusals(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Vec<GuardFailure> {
    let mut all: Vec<GuardFailure> = pod
        .handlers
        .iter()
        .filter_map(|handler| unrewritten_hook(pod, handler, wanted))
        .collect();
    all.extend(foreign_injector(context, pod));
    all
}

/// Returns a refusal for each probe that targets the agent on a port where the injector does not recognize it as
/// rewritten.
pub(super) fn loops(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Vec<GuardFailure> {
    pod.handlers
        .iter()
        .filter_map(|handler| wrong_agent_port(context, pod, handler))
        .collect()
}

/// Refuses a probe of the agent on another port than the status port of the mesh: the injector recognizes a probe as
/// rewritten only on that port. In an injected pod, the existing entries take precedence over what it records.
fn wrong_agent_port(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<GuardFailure> {
    let Ok(ProbeHandler::HttpGet(http)) = &prediction.handler.action else {
        return None;
    };
    let port = context.pod_facts(&pod.workload).mesh_status_port().value;
    if pod.workload.template.annotation(keys::STATUS).is_some() {
        return None;
    }
    if !is_agent_path(&http.path) || http.port == Port::Number(port) {
        return None;
    }
    let message = format!(
        "{} targets the agent on a port other than {port}: the injector would make the agent send \
         requests to itself",
        prediction.title()
    );
    let span = prediction.handler.field_span("port");
    Some(refuse(GuardId::AGENT_CALLS_ITSELF, span, message))
}

/// Refuses hooks while the release is unknown: they are not rewritten, and the injector of a later release would
/// record them.
fn unrewritten_hook(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<GuardFailure> {
    let handler = &prediction.handler;
    if pod.release.value.is_some()
        || wanted
            .iter()
            .any(|wanted_handler| wanted_handler.handler.route == handler.route)
    {
        return None;
    }
    let since = match &handler.action {
        Ok(ProbeHandler::HttpGet(http)) if is_agent_path(&http.path) => return None,
        Ok(action) => rewritten_since(action, handler.slot, prediction.container.list)?,
        Err(_) => HOOKS,
    };
    let message = format!(
        "{} is rewritten by Istio {since} and later: the injector would append a second prober \
         env, which takes precedence",
        prediction.title()
    );
    let help = "set the release with `--mesh-version`, or use `--form annotation`";
    Some(refuse(GuardId::HOOKS_NEED_RELEASE, handler.key.span(), message).with_help(help))
}

/// Annotations and labels that make other webhooks add containers. Sources: the
/// documentation of Dapr, OPA, Vault's agent injector and the OpenTelemetry operator.
const FOREIGN: [&str; 4] = [
    "dapr.io/enabled",
    "opa-istio-injection",
    "vault.hashicorp.com/agent-inject",
    "instrumentation.opentelemetry.io/inject-",
];

/// Refuses pods to which another webhook adds a container: Istio's injector would record a probe of that container.
fn foreign_injector(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let template = &pod.workload.template;
    let own = [template.annotations(), template.labels()];
    let enables_injection = |entry: &Entry<'_>| {
        let key = entry.key.text().unwrap_or_default();
        let is_off = matches!(entry.value.text(), Some("false" | "disabled"));
        !is_off && FOREIGN.iter().any(|start| key.starts_with(start))
    };
    let in_template = own
        .into_iter()
        .flatten()
        .flat_map(NodeRef::entries)
        .filter(enables_injection)
        .map(|entry| (entry.key.text().unwrap_or_default(), entry.key.span()))
        .next();
    let namespace = context.namespace_of(&pod.workload.object).manifest();
    let labels = namespace.and_then(|found| found.metadata()?.get("labels"));
    let in_namespace = || -> Option<(&str, Span)> {
        let entry = labels?.entries().find(enables_injection)?;
        Some((entry.key.text()?, pod.workload.object.name_span()))
    };
    let (key, span) = in_template.or_else(in_namespace)?;
    let message = format!(
        "`{key}` makes another webhook add a container; if that container has a probe, the \
         injector would append a second prober env, which takes precedence"
    );
    let help = format!(
        "use `--form annotation`, or `--allow foreign-injector` if that container has no probes \
         or is added after {}",
        keys::PROXY_CONTAINER
    );
    Some(refuse(GuardId::FOREIGN_INJECTOR, span, message).with_help(help))
}
