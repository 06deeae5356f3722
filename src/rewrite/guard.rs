//! Guards: why a pod is left as it was. Their names are public ids.

mod env;
mod handlers;
mod injection;
mod ports;
mod template;

use crate::context::Context;
use crate::finding::{Certainty, Finding, Severity};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::OLDEST_REWRITE;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::Span;

use super::form::Writing;

pub(super) use env::{deadly_entry, lost_entry, unreadable_env};

/// A guard that refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The public id.
    pub(super) guard: &'static str,
    /// The place that makes it refuse.
    pub(super) span: Span,
    /// Why, in one sentence.
    pub(super) message: String,
    /// What to do.
    pub(super) help: Option<String>,
}

impl Refusal {
    pub(super) fn new(guard: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            guard,
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Turns the refusal into a finding about the workload.
    pub(super) fn finding(self, pod: &WorkloadPrediction<'_>) -> Finding {
        let object = &pod.workload.object;
        let message = format!(
            "{} is not rewritten: {}",
            pod.workload.title(),
            self.message
        );
        let label = object.label_at(self.span, String::new());
        let mut finding = Finding::new(self.guard, Severity::Error, label, message);
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding.help = self.help;
        finding
    }
}

/// Guards whose refusal is a matter of judgement: `--allow` may pass them. A template that the
/// tree does not show is one for a container only, which every template takes its env from.
pub(crate) const ALLOWABLE: [&str; 4] = [
    "foreign-injector",
    "knative",
    "unknown-template",
    super::machine::PROBE_REFUSED,
];

/// Returns everything that speaks against writing a pod which holds handlers to rewrite.
pub(super) fn refusals<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
    writing: Writing,
) -> Vec<Refusal> {
    let allowed = |refusal: &Refusal| {
        ALLOWABLE.contains(&refusal.guard)
            && context.settings.allow.contains(refusal.guard)
            && (refusal.guard != "unknown-template" || !template::needs_metadata(writing))
    };
    // Where one of these refuses nothing else matters.
    let whole = [document, ambiguous, release, knative];
    let mut whole = whole.iter().filter_map(|guard| guard(context, pod));
    if let Some(refusal) = whole.find(|refusal| !allowed(refusal)) {
        return vec![refusal];
    }
    let mut all: Vec<Refusal> = Vec::new();
    all.extend(switch(pod));
    all.extend(injection::injection(context, pod));
    all.extend(injection::init_proxy(context, pod));
    all.extend(ports::status_port(pod));
    all.extend(ports::proxy_config(context, pod));
    all.extend(env::conflict(pod));
    all.extend(env::two_carriers(pod));
    all.extend(template::template(context, pod, writing));
    all.extend(handlers::hazards(context, pod, wanted));
    all.extend(writing.refusals(context, pod, wanted));
    if writing.opts_out {
        all.extend(handlers::spoiled_hooks(context, pod));
    }
    all.retain(|refusal| !allowed(refusal));
    all
}

fn name_span(pod: &WorkloadPrediction<'_>) -> Span {
    pod.workload.object.name_span()
}

/// The switch of the rewrite is not known.
fn switch(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    if pod.rewrite.certainty != Certainty::Unknown {
        return None;
    }
    let entry = pod.workload.template.annotation(keys::REWRITE_PROBERS);
    let span = entry.map_or_else(|| name_span(pod), |entry| entry.value.span());
    let said = format!("`{}` is filled in by another tool", keys::REWRITE_PROBERS);
    Some(Refusal::new("placeholder", span, said))
}

pub(super) fn document(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    pod.workload.object.document.encrypted.then(|| {
        let said = "the document is encrypted with SOPS, whose checksum an edit would break";
        Refusal::new("sops", name_span(pod), said)
            .with_help("decrypt it, rewrite it, and encrypt it again")
    })
}

/// The document has more than one reading: no rewrite keeps all of them.
pub(super) fn ambiguous(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let found = pod.workload.object.document.ambiguities.first()?;
    Some(Refusal::new("ambiguous-yaml", found.span, found.message.clone()).with_help(found.help))
}

fn release(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let version = context
        .version(&pod.workload)
        .value
        .filter(|&version| version < OLDEST_REWRITE)?;
    let said = format!("Istio {version} is only linted, rewriting starts at {OLDEST_REWRITE}");
    Some(Refusal::new("release-too-old", name_span(pod), said))
}

fn knative(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    (pod.workload.object.group() == "serving.knative.dev").then(|| {
        let said = "Knative owns the probes of its revisions and changes them itself";
        Refusal::new("knative", name_span(pod), said).with_help("`--allow knative` rewrites it")
    })
}
