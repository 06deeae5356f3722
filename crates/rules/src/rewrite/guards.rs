//! Guards: reasons not to rewrite a pod. Their names are public ids.

use meshprobe_mesh::finding::{Certainty, GuardId};
use meshprobe_mesh::kube::{KNATIVE_SERVING, ProbeHandler};
use meshprobe_mesh::mesh::istio::proxy_config::{ProxyConfig, Unreadable};
use meshprobe_mesh::mesh::istio::rewrite::{HOOKS, OLDEST_REWRITE, is_agent_path, is_hook_path};
use meshprobe_mesh::mesh::istio::{keys, prober_json};
use meshprobe_mesh::mesh::{Fact, Mesh, Version, is_newer_than_proven};
use meshprobe_predict::context::{Context, ProberEnvPlace, proxy_container};
use meshprobe_predict::predict::{
    self, HandlerPrediction, RewriteBlocker, WorkloadPrediction, predict_with,
};
use meshprobe_yaml::NodeRef;

use crate::rewrite::form::{EnvCarrier, RewriteForm, SelectedTemplates};
use crate::rewrite::injection_guards;
use crate::rewrite::plan::{GuardFailure, name_span, refuse};

/// Guards that `--allow` can disable, because the user may know better. `unknown-template` can only be allowed for a
/// prober env in a container, which every template passes on.
pub const ALLOWABLE: [GuardId; 5] = [
    GuardId::FOREIGN_INJECTOR,
    GuardId::KNATIVE,
    GuardId::RELEASE_NOT_PROVEN,
    GuardId::UNKNOWN_TEMPLATE,
    GuardId::VM_PROBE_REFUSED,
];

/// Returns every reason not to rewrite a pod that contains handlers to rewrite.
pub(super) fn refusals<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
    writing: RewriteForm,
) -> Vec<GuardFailure> {
    let allowed = |refusal: &GuardFailure| {
        ALLOWABLE.contains(&refusal.guard)
            && context.settings.allow.contains(&refusal.guard)
            && (refusal.guard != GuardId::UNKNOWN_TEMPLATE || !needs_metadata(writing))
    };
    // If one of these refuses, the other guards do not matter.
    let whole = [document, ambiguous, release, knative];
    let mut whole = whole.iter().filter_map(|guard| guard(context, pod));
    if let Some(refusal) = whole.find(|refusal| !allowed(refusal)) {
        return vec![refusal];
    }
    let mut all: Vec<GuardFailure> = Vec::new();
    all.extend(switch(pod));
    all.extend(injection_guards::injection(context, pod));
    all.extend(injection_guards::init_proxy(context, pod));
    all.extend(status_port(pod));
    all.extend(proxy_config(context, pod));
    if all.is_empty() {
        all.extend(injection_guards::rejected_pod(pod));
    }
    all.extend(conflict(pod));
    all.extend(conflicting_carriers(pod));
    all.extend(template(context, pod, writing));
    all.extend(not_proven(pod, writing));
    all.extend(rewrite_blockers(context, pod, wanted, writing));
    all.extend(writing.refusals(context, pod, wanted));
    if writing.opts_out {
        all.extend(broken_hooks(context, pod));
    }
    all.retain(|refusal| !allowed(refusal));
    all
}

/// Refuses if another tool fills in the annotation that switches the rewrite.
pub(super) fn switch(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    if pod.rewrite.certainty != Certainty::Unknown {
        return None;
    }
    let entry = pod.workload.template.annotation(keys::REWRITE_PROBERS);
    let span = entry.map_or_else(|| name_span(pod), |entry| entry.value.span());
    let message = format!("`{}` is filled in by another tool", keys::REWRITE_PROBERS);
    Some(refuse(GuardId::PLACEHOLDER, span, message))
}

/// Refuses encrypted documents.
pub(super) fn document(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    pod.workload.object.document.encrypted.then(|| {
        let message = "the document is encrypted with SOPS, and an edit would break its checksum";
        refuse(GuardId::SOPS, name_span(pod), message)
            .with_help("decrypt it, rewrite it, and encrypt it again")
    })
}

/// Refuses documents that parsers read differently: no rewrite keeps all readings.
pub(super) fn ambiguous(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let found = pod.workload.object.document.ambiguities.first()?;
    Some(refuse(GuardId::AMBIGUOUS_YAML, found.span, found.message.clone()).with_help(found.help))
}

pub(super) fn release(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let version = context
        .pod_facts(&pod.workload)
        .version()
        .value
        .filter(|&version| version < OLDEST_REWRITE)?;
    let message = format!(
        "`rewrite` does not support Istio {version}; the oldest supported release is \
         {OLDEST_REWRITE}"
    );
    Some(refuse(GuardId::RELEASE_TOO_OLD, name_span(pod), message))
}

pub(super) fn knative(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    (pod.workload.object.group() == KNATIVE_SERVING).then(|| {
        let message = "Knative owns the probes of its revisions and changes them itself";
        refuse(GuardId::KNATIVE, name_span(pod), message)
            .with_help("to rewrite it anyway, use `--allow knative`")
    })
}

/// Refuses a prober env that cannot be read.
pub(super) fn unreadable_env(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let error = env.probers.as_ref().err()?;
    let message = format!("its `{}` cannot be read: {error}", keys::PROBERS_ENV);
    Some(refuse(GuardId::PROBER_ENV_INVALID, env.span, message))
}

/// Refuses a prober env with an entry that prevents the agent from starting.
pub(super) fn fatal_entry(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let probers = env.probers.as_ref().ok()?;
    let fault = probers
        .iter()
        .find_map(|(path, json)| {
            let fault = prober_json::rejection_reason(path, json)?;
            Some(format!("its entry `{path}` {fault}"))
        })
        .or_else(|| {
            let release = pod.release.value.filter(|&release| release < HOOKS)?;
            let path = probers.keys().find(|path| is_hook_path(path))?;
            Some(format!(
                "its entry `{path}` is unknown to agents of {release}"
            ))
        })?;
    let message = format!(
        "the agent does not start with the `{}` of the pod: {fault}",
        keys::PROBERS_ENV
    );
    Some(refuse(GuardId::PROBER_ENV_INVALID, env.span, message))
}

/// Refuses a probe that targets the agent without an entry in the prober env.
pub(super) fn missing_entry(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<GuardFailure> {
    let path = agent_path(prediction)?;
    let probers = pod
        .prober_env
        .as_ref()
        .and_then(|env| env.probers.as_ref().ok());
    if probers.is_some_and(|probers| probers.contains_key(path)) {
        return None;
    }
    let message = format!(
        "{} targets the agent, but the pod has no prober env with the entry `{path}`",
        prediction.title()
    );
    let span = prediction.handler.field_span("path");
    Some(refuse(GuardId::REWRITTEN_WITHOUT_ENTRY, span, message))
}

fn agent_path<'a>(prediction: &'a HandlerPrediction<'_>) -> Option<&'a str> {
    match &prediction.handler.action {
        Ok(ProbeHandler::HttpGet(http)) if is_agent_path(&http.path) => Some(&http.path),
        _ => None,
    }
}

/// Refuses a prober env that is set several times, or that a rewrite must not extend. It may extend the env of a pod
/// that opts out or is injected, and the env of an earlier rewrite, in which each entry belongs to a probe.
pub(super) fn conflict(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let count = proxy_container(&pod.workload).map_or(0, |proxy| {
        let named = proxy
            .node
            .get("env")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter(|item| item.get("name").and_then(NodeRef::text) == Some(keys::PROBERS_ENV));
        named.count()
    });
    if count > 1 {
        let message = format!("its `{}` is set {count} times", keys::PROBERS_ENV);
        return Some(refuse(GuardId::PROBER_ENV_CONFLICT, env.span, message));
    }
    let is_injected = pod.workload.template.annotation(keys::STATUS).is_some();
    let paths: Vec<&str> = pod.handlers.iter().filter_map(agent_path).collect();
    let probers = env.probers.as_ref().ok()?;
    let stray = probers.keys().find(|key| !paths.contains(&key.as_str()))?;
    if is_injected || !pod.rewrite.value {
        return None;
    }
    let message = format!(
        "its `{}` contains `{stray}`, which no probe targets, and does not contain all probes",
        keys::PROBERS_ENV
    );
    Some(refuse(GuardId::PROBER_ENV_CONFLICT, env.span, message))
}

/// Refuses a pod with two possible carriers: the env of the sidecar container would be lost or doubled.
pub(super) fn conflicting_carriers(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let env = pod.prober_env.as_ref()?;
    let is_double =
        env.place == ProberEnvPlace::ProxyMetadata && proxy_container(&pod.workload).is_some();
    is_double.then(|| {
        let message =
            "its prober env is in the annotation, but it also has an `istio-proxy` container";
        refuse(GuardId::PROBER_ENV_CONFLICT, name_span(pod), message)
    })
}

/// Returns a refusal for each reason why a rewrite would change the meaning of handlers, with all of these handlers.
pub(super) fn rewrite_blockers<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
    writing: RewriteForm,
) -> Vec<GuardFailure> {
    let mut reasons: Vec<(RewriteBlocker, Vec<&HandlerPrediction<'t>>)> = Vec::new();
    for handler in wanted {
        for blocker in predict::rewrite_blockers(context, pod, handler) {
            match reasons.iter_mut().find(|(known, _)| *known == blocker) {
                Some((_, handlers)) => handlers.push(handler),
                None => reasons.push((blocker, vec![handler])),
            }
        }
    }
    let mut refusals: Vec<GuardFailure> = reasons
        .into_iter()
        .filter_map(|(blocker, handlers)| blocker_refusal(blocker, &handlers, writing))
        .collect();
    refusals.extend(wanted.iter().filter_map(|handler| lost_merge_key(handler)));
    refusals
}

/// Returns the refusal of a reason at the first of its handlers; `None` without handlers.
fn blocker_refusal(
    blocker: RewriteBlocker,
    handlers: &[&HandlerPrediction<'_>],
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let first = &handlers.first()?.handler;
    let span = if blocker.field.is_empty() {
        first.kind_span()
    } else {
        first.field_span(blocker.field)
    };
    let titles: Vec<String> = handlers.iter().map(|handler| handler.title()).collect();
    let message = format!("{}: {}", titles.join(", "), blocker.message);
    let failure = refuse(blocker.guard, span, message);
    if blocker.guard == GuardId::PROBE_HOST && !writing.opts_out {
        let help = "the other forms rewrite only the other probes of the pod";
        return Some(failure.with_help(help));
    }
    Some(failure)
}

/// Refuses a `tcpSocket` or `grpc` mapping with a merge key: the mapping is replaced as a whole, which would lose the
/// fields of the merge key.
fn lost_merge_key(prediction: &HandlerPrediction<'_>) -> Option<GuardFailure> {
    let handler = &prediction.handler;
    let Ok(action @ (ProbeHandler::TcpSocket { .. } | ProbeHandler::Grpc { .. })) = &handler.action
    else {
        return None;
    };
    let key = action.key();
    handler.node.get(key).filter(|node| node.has_merge_key())?;
    let message = format!(
        "{}: a merge key within `{key}` would be lost",
        prediction.title()
    );
    Some(refuse(
        GuardId::UNRECORDED_FIELD,
        handler.kind_span(),
        message,
    ))
}

/// Refuses hooks that the opt-out would break. While the release is unknown, hooks are not rewritten, and the opt-out
/// prevents the mesh from rewriting them.
pub(super) fn broken_hooks<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<GuardFailure> {
    if pod.release.value.is_some() || !pod.rewrite.value {
        return Vec::new();
    }
    let off = Fact::settled(false, "the opt-out is written");
    let after = predict_with(context, &pod.workload, off);
    let hooks = after.handlers.iter().filter(|prediction| {
        prediction.handler.slot.is_lifecycle() && prediction.verdict.outcome.is_bad()
    });
    hooks
        .map(|hook| {
            let message = format!(
                "{} would no longer work: {}",
                hook.title(),
                hook.verdict.cause.describe()
            );
            let help =
                "set the release with `--mesh-version`: from 1.25 on, hooks are rewritten too";
            refuse(
                GuardId::HOOKS_NEED_RELEASE,
                hook.handler.key.span(),
                message,
            )
            .with_help(help)
        })
        .collect()
}

pub(super) fn status_port(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let entry = pod.workload.template.annotation(keys::STATUS_PORT)?;
    let text = entry.value.text().unwrap_or_default();
    // The validator trims the value before it parses an unsigned number; the injector does not trim.
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && text.parse::<u16>().is_ok_and(|port| port != 0) {
        return None;
    }
    let message = format!("`{}: \"{text}\"` is not a port", keys::STATUS_PORT);
    Some(refuse(
        GuardId::STATUS_PORT_INVALID,
        entry.value.span(),
        message,
    ))
}

pub(super) fn proxy_config(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::PROXY_CONFIG)?;
    let span = entry.key.span();
    if entry.value.text().is_none() {
        let message = format!(
            "`{}` is not a string, but annotations must be strings",
            keys::PROXY_CONFIG
        );
        return Some(refuse(GuardId::PROXY_CONFIG_INVALID, span, message));
    }
    let config = match ProxyConfig::parse(entry.value.text().unwrap_or_default()) {
        Ok(config) => config,
        Err(error) => {
            let message = match error {
                Unreadable::Refused(_) => {
                    format!("the injector refuses `{}`: {error}", keys::PROXY_CONFIG)
                }
                Unreadable::Differs { .. } => {
                    format!("`{}` is ambiguous: {error}", keys::PROXY_CONFIG)
                }
            };
            return Some(refuse(GuardId::PROXY_CONFIG_INVALID, span, message));
        }
    };
    if let Some(fault) = config.fault(pod.release.value) {
        let message = format!(
            "the injector refuses `{}`: {}",
            keys::PROXY_CONFIG,
            fault.message
        );
        return Some(refuse(GuardId::PROXY_CONFIG_INVALID, span, message));
    }
    let port = config.status_port()?;
    let mesh_port = context.pod_facts(&pod.workload).mesh_status_port().value;
    if template.annotation(keys::STATUS_PORT).is_some() || port == mesh_port {
        return None;
    }
    let message = format!(
        "`{}` moves the agent to port {port}, but the injector points probes at {mesh_port}",
        keys::PROXY_CONFIG,
    );
    let help = format!(
        "use the annotation `{}`, which both honour",
        keys::STATUS_PORT
    );
    Some(refuse(GuardId::STATUS_PORT_MISMATCH, span, message).with_help(help))
}

/// The release in which proxyless templates began to switch off the rewrite.
const PROXYLESS_OPT_OUT: Version = Version::new(1, 12);

/// Returns whether the sidecar gets the env only if its template copies `proxyMetadata`. The injector merges an env in a
/// container into the result of any template.
pub(super) const fn needs_metadata(writing: RewriteForm) -> bool {
    matches!(writing.place, EnvCarrier::Annotation)
}

pub(super) fn template(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let selected = SelectedTemplates::of(context, pod)?;
    if let Some(name) = selected.custom(context, pod) {
        return needs_metadata(writing).then(|| {
            let message = format!(
                "injection template `{name}` is a custom template, which may not pass \
                 `proxyMetadata` to the sidecar"
            );
            refuse(GuardId::CUSTOM_TEMPLATE, selected.span, message)
                .with_help("`--form container` works with every template")
        });
    }
    if let Some(name) = selected.unknown() {
        let message = format!("injection template `{name}` is not one of Istio's own");
        let help = if needs_metadata(writing) {
            "if the mesh has this template, use `--form container --allow unknown-template`"
        } else {
            "if the mesh has this template, use `--allow unknown-template`"
        };
        return Some(refuse(GuardId::UNKNOWN_TEMPLATE, selected.span, message).with_help(help));
    }
    without_sidecar(pod, &selected)
}

/// Refuses the annotation form for a release that no oracle has compared: its template may no longer pass
/// `proxyMetadata` on unescaped.
pub(super) fn not_proven(
    pod: &WorkloadPrediction<'_>,
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let release = pod.release.value.filter(|_| needs_metadata(writing))?;
    is_newer_than_proven(Mesh::ISTIO, release).then(|| {
        let message = format!(
            "Istio {release} is newer than every release that was compared with meshprobe; its \
             injection template may read `proxyMetadata` differently"
        );
        let help =
            "use `--form container`, or `--allow release-not-proven` after a test in a cluster";
        refuse(GuardId::RELEASE_NOT_PROVEN, name_span(pod), message).with_help(help)
    })
}

/// Refuses those of Istio's own templates that add no sidecar.
fn without_sidecar(
    pod: &WorkloadPrediction<'_>,
    selected: &SelectedTemplates,
) -> Option<GuardFailure> {
    let is_proxyless = |name: &String| matches!(name.as_str(), "grpc-agent" | "grpc-simple");
    if selected.names.iter().any(is_proxyless) {
        let message = "a proxyless template adds no sidecar that could receive the env";
        let release = pod.release.value;
        let is_old = release.is_some_and(|version| version < PROXYLESS_OPT_OUT);
        return (is_old || pod.rewrite.value)
            .then(|| refuse(GuardId::PROXYLESS_TEMPLATE, selected.span, message));
    }
    selected
        .names
        .iter()
        .any(|name| name != "sidecar")
        .then(|| {
            let message = "a gateway template does not pass `proxyMetadata` to a sidecar";
            refuse(GuardId::GATEWAY_TEMPLATE, selected.span, message)
        })
}
