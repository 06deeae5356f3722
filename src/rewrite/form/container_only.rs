//! The form `container-only`: a partial container without the opt-out. The webhook still rewrites probes, and what it
//! records becomes a second env, which takes precedence over the one that was written ahead.

use crate::context::Context;
use crate::kube::{Action, Port};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::{HOOKS, is_agent_path, rewritten_since};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Entry, NodeRef, Span};

use super::super::guard::Refusal;

/// What makes the injector record something after all.
pub(super) fn refusals(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Vec<Refusal> {
    let handlers = pod.handlers.iter();
    let mut all: Vec<Refusal> = handlers
        .filter_map(|handler| left(pod, handler, wanted))
        .collect();
    all.extend(foreign(context, pod));
    all
}

/// Probes that ask the agent already, but not where the injector takes them for rewritten.
pub(super) fn loops(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Vec<Refusal> {
    let handlers = pod.handlers.iter();
    handlers
        .filter_map(|handler| elsewhere(context, pod, handler))
        .collect()
}

/// The injector takes a probe for rewritten only at the port of the mesh. In an injected pod the
/// entries that are there win over what it records.
fn elsewhere(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<Refusal> {
    let Ok(Action::HttpGet(http)) = &prediction.handler.action else {
        return None;
    };
    let port = context.mesh_status_port(&pod.workload).value;
    if pod.workload.template.annotation(keys::STATUS).is_some() {
        return None;
    }
    if !is_agent_path(&http.path) || http.port == Port::Number(port) {
        return None;
    }
    let said = format!(
        "{} asks the agent at another port than {port}: the injector would have the agent call itself",
        prediction.title()
    );
    let span = prediction.handler.field_span("port");
    Some(Refusal::new("agent-calls-itself", span, said))
}

/// While the release is unknown hooks are not written, and a later injector would record them.
fn left(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<Refusal> {
    let handler = &prediction.handler;
    if pod.release.value.is_some() || wanted.iter().any(|one| one.handler.route == handler.route) {
        return None;
    }
    let since = match &handler.action {
        Ok(Action::HttpGet(http)) if is_agent_path(&http.path) => return None,
        Ok(action) => rewritten_since(action, handler.slot, prediction.container.list)?,
        Err(_) => HOOKS,
    };
    let said = format!(
        "{} is rewritten from {since} on: the injector would append a second env, which wins",
        prediction.title()
    );
    let help = "set the release with `--mesh-version`, or use `--form annotation`";
    Some(Refusal::new("hooks-need-release", handler.key.span(), said).with_help(help))
}

/// Annotations and labels with which other webhooks are asked to add containers. Sources: the
/// documentation of Dapr, OPA, Vault's agent injector and the OpenTelemetry operator.
const FOREIGN: [&str; 4] = [
    "dapr.io/enabled",
    "opa-istio-injection",
    "vault.hashicorp.com/agent-inject",
    "instrumentation.opentelemetry.io/inject-",
];

/// Another webhook adds a container: a probe of it would be recorded.
fn foreign(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let template = &pod.workload.template;
    let own = [template.annotations(), template.labels()];
    let asks = |entry: &Entry<'_>| {
        let key = entry.key.text().unwrap_or_default();
        let is_off = matches!(entry.value.text(), Some("false" | "disabled"));
        !is_off && FOREIGN.iter().any(|start| key.starts_with(start))
    };
    let entries = own.into_iter().flatten().flat_map(NodeRef::entries);
    let here = entries
        .filter(asks)
        .map(|entry| (entry.key.text().unwrap_or_default(), entry.key.span()))
        .next();
    let namespace = context.namespace_object(&pod.workload.object);
    let labels = namespace.and_then(|found| found.metadata()?.get("labels"));
    let there = || -> Option<(&str, Span)> {
        let entry = labels?.entries().find(asks)?;
        Some((entry.key.text()?, pod.workload.object.name_span()))
    };
    let (key, span) = here.or_else(there)?;
    let said = format!(
        "`{key}` asks another webhook for a container; of a probe there the injector would \
         append a second env, which wins"
    );
    let help = format!(
        "use `--form annotation`, or `--allow foreign-injector` if that container has no probes or is \
         added after {}",
        keys::PROXY_CONTAINER
    );
    Some(Refusal::new("foreign-injector", span, said).with_help(help))
}
