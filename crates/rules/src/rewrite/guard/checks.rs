//! Runs all guards of a pod.

use meshprobe_mesh::finding::{Certainty, GuardId};
use meshprobe_mesh::kube::KNATIVE_SERVING;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::OLDEST_REWRITE;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rewrite::form::rewrite_form::RewriteForm;
use crate::rewrite::guard::failure::{GuardFailure, name_span};
use crate::rewrite::guard::{env, handlers, injection, ports, template};

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
pub(in crate::rewrite) fn refusals<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
    writing: RewriteForm,
) -> Vec<GuardFailure> {
    let allowed = |refusal: &GuardFailure| {
        ALLOWABLE.contains(&refusal.guard)
            && context.settings.allow.contains(&refusal.guard)
            && (refusal.guard != GuardId::UNKNOWN_TEMPLATE || !template::needs_metadata(writing))
    };
    // If one of these refuses, the other guards do not matter.
    let whole = [document, ambiguous, release, knative];
    let mut whole = whole.iter().filter_map(|guard| guard(context, pod));
    if let Some(refusal) = whole.find(|refusal| !allowed(refusal)) {
        return vec![refusal];
    }
    let mut all: Vec<GuardFailure> = Vec::new();
    all.extend(switch(pod));
    all.extend(injection::injection(context, pod));
    all.extend(injection::init_proxy(context, pod));
    all.extend(ports::status_port(pod));
    all.extend(ports::proxy_config(context, pod));
    if all.is_empty() {
        all.extend(injection::rejected_pod(pod));
    }
    all.extend(env::conflict(pod));
    all.extend(env::conflicting_carriers(pod));
    all.extend(template::template(context, pod, writing));
    all.extend(template::not_proven(pod, writing));
    all.extend(handlers::rewrite_blockers(context, pod, wanted, writing));
    all.extend(writing.refusals(context, pod, wanted));
    if writing.opts_out {
        all.extend(handlers::broken_hooks(context, pod));
    }
    all.retain(|refusal| !allowed(refusal));
    all
}

/// Refuses if another tool fills in the annotation that switches the rewrite.
pub(in crate::rewrite) fn switch(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    if pod.rewrite.certainty != Certainty::Unknown {
        return None;
    }
    let entry = pod.workload.template.annotation(keys::REWRITE_PROBERS);
    let span = entry.map_or_else(|| name_span(pod), |entry| entry.value.span());
    let message = format!("`{}` is filled in by another tool", keys::REWRITE_PROBERS);
    Some(GuardFailure::new(GuardId::PLACEHOLDER, span, message))
}

/// Refuses encrypted documents.
pub(in crate::rewrite) fn document(
    _: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    pod.workload.object.document.encrypted.then(|| {
        let message = "the document is encrypted with SOPS, and an edit would break its checksum";
        GuardFailure::new(GuardId::SOPS, name_span(pod), message)
            .with_help("decrypt it, rewrite it, and encrypt it again")
    })
}

/// Refuses documents that parsers read differently: no rewrite keeps all readings.
pub(in crate::rewrite) fn ambiguous(
    _: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let found = pod.workload.object.document.ambiguities.first()?;
    Some(
        GuardFailure::new(GuardId::AMBIGUOUS_YAML, found.span, found.message.clone())
            .with_help(found.help),
    )
}

pub(in crate::rewrite) fn release(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let version = context
        .istio(&pod.workload)
        .version()
        .value
        .filter(|&version| version < OLDEST_REWRITE)?;
    let message = format!(
        "`rewrite` does not support Istio {version}; the oldest supported release is \
         {OLDEST_REWRITE}"
    );
    Some(GuardFailure::new(
        GuardId::RELEASE_TOO_OLD,
        name_span(pod),
        message,
    ))
}

pub(in crate::rewrite) fn knative(
    _: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    (pod.workload.object.group() == KNATIVE_SERVING).then(|| {
        let message = "Knative owns the probes of its revisions and changes them itself";
        GuardFailure::new(GuardId::KNATIVE, name_span(pod), message)
            .with_help("to rewrite it anyway, use `--allow knative`")
    })
}
