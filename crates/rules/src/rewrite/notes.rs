//! Notes about a pod in addition to refusals: why it is not rewritten, and what its rewrite depends on.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{
    Certainty, Finding, GuardId, Label, RuleId, Sentence, Severity, rule_id, sentence_list,
};
use meshprobe_mesh::kube::{ContainerList, Slot};
use meshprobe_mesh::mesh::istio::injection::is_system_namespace;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::{OLDEST_REWRITE, parse_bool};
use meshprobe_mesh::settings::{Form, FormChoice, InjectionAssumption};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, WorkloadPrediction, how_to_judge_for_rivals, injecting_meshes,
};

use crate::rewrite::form::{self, ContainerReason, RewriteForm};
use crate::rewrite::handlers::{left, since};
use crate::rewrite::injection_guards::GivenRevision;

fn note(pod: &WorkloadPrediction<'_>, id: impl Into<RuleId>, message: String) -> Finding {
    let object = &pod.workload.object;
    Finding::on_object(object, object.name_span(), (id, Severity::Note), message)
}

/// Returns a note that is reported once if it holds in the same way for several workloads.
pub(super) fn shared_note(
    pod: &WorkloadPrediction<'_>,
    id: impl Into<RuleId>,
    sentence: Sentence,
) -> Finding {
    let mut finding = note(pod, id, String::new());
    finding.set_sentence(&pod.workload.title(), sentence);
    finding
}

pub(super) fn note_at(
    pod: &WorkloadPrediction<'_>,
    id: impl Into<RuleId>,
    at: Label,
    message: String,
) -> Finding {
    let object = &pod.workload.object;
    let mut finding = Finding::new(id, Severity::Note, at, message);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding
}

/// Notes that the owner of the pod or of the mesh has switched off the rewrite.
pub(super) fn opt_out(
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    if wanted.is_empty() {
        return None;
    }
    let reason = pod.rewrite.because.first()?;
    let object = &pod.workload.object;
    let place = reason.place.clone();
    let title = pod.workload.title();
    if pod.dataplane.value == Dataplane::Uncaptured {
        // Only a proxyless template switches it off itself, and then the place is the selection of that template.
        let chosen = pod.workload.template.annotation(keys::TEMPLATES)?;
        let at = object.label_at(chosen.value.span(), String::new());
        let is_set_there = place.is_some_and(|place| place.is_at(&at));
        let message = format!("{title} is left as it is: {}", reason.message);
        return is_set_there.then(|| note_at(pod, GuardId::PROXYLESS, at, message));
    }
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let message = if place.is_some() {
        format!("{title} is left as it is: its owner has switched the rewrite off")
    } else {
        format!("{title} is left as it is: {}", reason.message)
    };
    let label = place.unwrap_or_else(|| object.label_at(object.name_span(), String::new()));
    Some(note_at(pod, GuardId::OPT_OUT, label, message))
}

/// Notes that a pod gets no sidecar although its namespace is injected.
pub(super) fn outside(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    if wanted.is_empty() {
        return None;
    }
    let title = pod.workload.title();
    if pod.dataplane.value == Dataplane::Ambient {
        let message = format!(
            "{title} is left as it is: it is in ambient mode, where no injector rewrites probes"
        );
        return Some(note(pod, GuardId::AMBIENT, message));
    }
    if !is_injected_namespace(context, pod) {
        return None;
    }
    let object = &pod.workload.object;
    if let Some(entry) = pod.workload.template.host_network() {
        let label = object.label_at(entry.key.span(), String::new());
        let message = format!("{title} is left as it is: pods on the host network get no sidecar");
        return Some(note_at(pod, GuardId::HOST_NETWORK, label, message));
    }
    let namespace = context.namespace_of(object).name;
    let message = format!("{title} is left as it is: Istio never injects namespace `{namespace}`");
    is_system_namespace(namespace).then(|| note(pod, GuardId::SYSTEM_NAMESPACE, message))
}

fn is_injected_namespace(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let object = &pod.workload.object;
    let given = context.user_facts(object);
    let facts = [&given.overrides, &given.assume];
    let all = |facts: &&meshprobe_mesh::settings::FactOverrides| {
        facts.injection == Some(InjectionAssumption::All)
    };
    let own = pod.workload.template.label(keys::INJECT);
    let label = |key| {
        let found = context.namespace_of(object).manifest()?;
        found.label(key)?.value.text()
    };
    facts.iter().any(all)
        || own.is_some_and(|entry| entry.value.text() == Some("true"))
        || label(keys::NAMESPACE_INJECTION) == Some("enabled")
        || label(keys::REVISION).is_some()
}

/// Notes that the pod is already written in another form than the requested one, and keeps it.
pub(super) fn form_kept(choice: FormChoice, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let FormChoice::Fixed(requested) = choice else {
        return None;
    };
    let written = form::existing_form(pod).filter(|written| *written != requested)?;
    let may_be_injected = matches!(pod.dataplane.value, Dataplane::Sidecar | Dataplane::Unknown);
    let message = format!(
        "{} already has the form `{}` and keeps it: two forms together would give the sidecar two \
         prober envs; to change the form, run `meshprobe rewrite --undo` first",
        pod.workload.title(),
        written.as_str()
    );
    may_be_injected.then(|| note(pod, GuardId::FORM_KEPT, message))
}

/// Returns the notes about a pod that was rewritten.
pub(super) fn of_rewritten(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
    writing: RewriteForm,
) -> Vec<Finding> {
    let all = [
        revision_given(context, pod),
        job(pod),
        hooks_left(pod),
        release_assumed(pod, wanted),
        port_assumed(pod),
        newer_release(pod, writing),
        opt_in(pod, writing),
        form_chosen(pod, writing),
    ];
    all.into_iter()
        .flatten()
        .chain(deadlocks(pod, wanted))
        .collect()
}

/// Notes that nothing proves that a control plane serves the revision of the pod.
fn revision_given(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let assumption = GivenRevision::of(context, pod)?.assumption();
    let sentence = Sentence::verb(
        ("is", "are"),
        " rewritten, because a label selects a revision",
    );
    let mut finding = shared_note(pod, GuardId::INJECTION_UNPROVEN, sentence);
    finding.certainty = pod.dataplane.certainty;
    finding.assumptions = vec![assumption];
    Some(finding)
}

/// Notes why `auto` chose the form `container`, which adds a container that policies and scanners see.
fn form_chosen(pod: &WorkloadPrediction<'_>, writing: RewriteForm) -> Option<Finding> {
    let (reason, advice) = match writing.reason? {
        ContainerReason::ReleaseUnknown => (
            "the tree does not state the release of Istio".to_owned(),
            "; with `--mesh-version`, `auto` uses the form `annotation` for a proven release",
        ),
        ContainerReason::ReleaseNotProven(release) => (
            format!("Istio {release} is newer than every release that was compared with meshprobe"),
            "",
        ),
        ContainerReason::CustomTemplate => (
            "its custom injection template may not pass `proxyMetadata` to the sidecar".to_owned(),
            "",
        ),
        ContainerReason::UnknownTemplate => (
            "its injection template is not defined in the tree and may not pass `proxyMetadata` to the sidecar"
                .to_owned(),
            "",
        ),
        ContainerReason::Fork => (
            "the injection template of OpenShift Service Mesh 2 was not compared with meshprobe".to_owned(),
            "",
        ),
    };
    let text = format!(" rewritten in the form `container`, because {reason}{advice}");
    let sentence = Sentence::verb(("is", "are"), text);
    Some(shared_note(pod, GuardId::FORM_CHOSEN, sentence))
}

fn job(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let message = format!(
        "the pod template of a Job is immutable: delete an existing {} first",
        pod.workload.title()
    );
    (pod.workload.object.kind == "Job").then(|| note(pod, GuardId::JOB_IMMUTABLE, message))
}

/// Reports the value of the annotation that the opt-out replaces.
fn opt_in(pod: &WorkloadPrediction<'_>, writing: RewriteForm) -> Option<Finding> {
    let key = keys::REWRITE_PROBERS;
    let entry = pod.workload.template.annotation(key)?;
    let value = entry.value.text().unwrap_or_default();
    if parse_bool(value) == Some(false) || writing.form == Form::ContainerOnly {
        return None;
    }
    let object = &pod.workload.object;
    let label = object.label_at(entry.value.span(), String::new());
    let message = format!(
        "{}: `{key}` was {value:?} and becomes \"false\"; `--undo` writes \"true\" if the tree \
         shows that the mesh does not rewrite probes by default, and deletes the annotation \
         otherwise",
        pod.workload.title()
    );
    Some(note_at(pod, GuardId::OPT_IN_REPLACED, label, message))
}

fn hooks_left(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let is_left = |slot: Slot| slot.is_lifecycle() && pod.release.value.is_none();
    let found = left(pod)
        .iter()
        .any(|prediction| is_left(prediction.handler.slot));
    let message = format!(
        "the hooks of {} are not rewritten: agents before 1.25 do not start with their \
         probers; set the release with `--mesh-version`",
        pod.workload.title()
    );
    found.then(|| note(pod, GuardId::HOOKS_LEFT, message))
}

/// Notes that the latest release is assumed, if that matters: older supported releases do not rewrite this kind of
/// handler.
fn release_assumed(
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    if pod.release.certainty >= Certainty::Default {
        return None;
    }
    let gated = wanted
        .iter()
        .filter_map(|prediction| Some((prediction, since(prediction)?)));
    let (handler, since) = gated
        .filter(|(_, since)| *since > OLDEST_REWRITE)
        .max_by_key(|(_, since)| *since)?;
    let kind = handler
        .handler
        .action
        .as_ref()
        .map_or("", |action| action.key());
    let place = if handler.container.list == ContainerList::Init {
        " of an init container"
    } else {
        ""
    };
    let because = pod.release.because.first()?;
    let text = format!(
        ": {}; releases before {since} do not rewrite {kind}{place}; set the release with \
         `--mesh-version`",
        because.message
    );
    let sentence = Sentence::same(text);
    Some(shared_note(pod, GuardId::RELEASE_ASSUMED, sentence))
}

fn port_assumed(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    if pod.status_port.certainty >= Certainty::Default {
        return None;
    }
    let because: Vec<&str> = pod
        .status_port
        .because
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let message = format!(
        "the probes of {} target port {}, which is assumed ({}); set it with `--assume \
         status-port=N`",
        pod.workload.title(),
        pod.status_port.value,
        because.join("; ")
    );
    Some(note(pod, GuardId::PORT_ASSUMED, message))
}

/// Warns that, without the opt-out, the injector of a later release would record what this release does not rewrite.
fn newer_release(pod: &WorkloadPrediction<'_>, writing: RewriteForm) -> Option<Finding> {
    let left = left(pod);
    let since = left
        .iter()
        .filter_map(|prediction| since(prediction))
        .min()?;
    let first = left
        .iter()
        .find(|prediction| self::since(prediction) == Some(since))?;
    if writing.opts_out || pod.release.value.is_none() {
        return None;
    }
    let message = format!(
        "{}: {} is not rewritten by this release; from {since} on, the injector would append \
         a second prober env, which takes precedence: rewrite again before you upgrade the mesh",
        pod.workload.title(),
        first.title()
    );
    let mut finding = note(pod, GuardId::NEWER_RELEASE, message);
    finding.severity = Severity::Warning;
    Some(finding)
}

/// Warns about handlers that the rewrite breaks as the injector's rewrite does. They are rewritten anyway, because
/// leaving them out would not help, and are reported with the id of the rule that finds them.
fn deadlocks<'p>(
    pod: &'p WorkloadPrediction<'_>,
    wanted: &'p [&HandlerPrediction<'_>],
) -> impl Iterator<Item = Finding> + 'p {
    wanted
        .iter()
        .filter(|prediction| prediction.verdict.cause == Cause::BeforeSidecar)
        .map(|prediction| {
            let is_sure = prediction.verdict.certainty > Certainty::Assumed;
            let condition = if is_sure {
                ""
            } else {
                " if the sidecar is not native"
            };
            let message = format!(
                "{} is rewritten, as the injector would rewrite it, and can never pass{condition}: \
                 the agent starts only after this init container; `meshprobe check` shows how to fix \
                 it",
                prediction.title()
            );
            let label = pod
                .workload
                .object
                .label_at(prediction.handler.key.span(), String::new());
            let mut finding = note_at(pod, rule_id!("native-sidecar-startup-deadlock"), label, message);
            finding.severity = Severity::Warning;
            finding.certainty = prediction.verdict.certainty;
            finding.assumptions = prediction.verdict.assumptions();
            finding
        })
}

/// Notes the handlers that stay as written because they target another host: one note for each host.
pub(super) fn host_kept_notes<'p>(
    pod: &'p WorkloadPrediction<'_>,
    kept: &'p [&HandlerPrediction<'_>],
) -> impl Iterator<Item = Finding> + 'p {
    let mut by_host: BTreeMap<&str, Vec<&HandlerPrediction<'_>>> = BTreeMap::new();
    for prediction in kept {
        let action = prediction.handler.action.as_ref().ok();
        if let Some(host) = action.and_then(|action| action.host()) {
            by_host.entry(host).or_default().push(prediction);
        }
    }
    let notes: Vec<Finding> = by_host
        .into_iter()
        .filter_map(|(host, handlers)| host_kept_note(pod, host, &handlers))
        .collect();
    notes.into_iter()
}

fn host_kept_note(
    pod: &WorkloadPrediction<'_>,
    host: &str,
    handlers: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    let object = &pod.workload.object;
    let label = |prediction: &HandlerPrediction<'_>, message: &str| {
        object.label_at(prediction.handler.field_span("host"), message.to_owned())
    };
    let (first, others) = handlers.split_first()?;
    let titles: Vec<String> = handlers.iter().map(|handler| handler.title()).collect();
    let (verb, its) = match others {
        [] => ("is", "its"),
        _ => ("are", "their"),
    };
    let message = format!(
        "{} {verb} not rewritten: with the opt-out, {its} requests reach host `{host}` as written",
        sentence_list(&titles)
    );
    let mut finding = note_at(pod, GuardId::HOST_KEPT, label(first, ""), message);
    let related = others.iter();
    finding
        .related
        .extend(related.map(|other| label(other, &other.title())));
    finding.sentence = Some(Sentence::all(format!(
        "have probes that are not rewritten: with the opt-out, their requests reach host `{host}` as written"
    )));
    Some(finding)
}

/// Notes that several meshes inject the pod, and that the rewrite is only for one of them.
pub(super) fn several_meshes(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let first = pod
        .claims
        .first()
        .filter(|_| !pod.handlers.is_empty())?
        .mesh
        .title();
    let text = format!(
        ": {} into the pods, whose probes are judged for {first} only",
        injecting_meshes(pod)
    );
    let mut finding = shared_note(pod, GuardId::SEVERAL_MESHES, Sentence::same(text));
    finding.related = pod.claims.iter().map(|claim| claim.place.clone()).collect();
    finding.help = Some(how_to_judge_for_rivals(pod));
    Some(finding)
}
