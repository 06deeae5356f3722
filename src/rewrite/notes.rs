//! What to know about a pod beside what refuses: why it is left alone, and what its rewrite rests
//! on.

use crate::context::{Context, Dataplane};
use crate::finding::{Certainty, Finding, Label, Severity};
use crate::kube::{ContainerList, Slot};
use crate::mesh::istio::injection::is_system_namespace;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::{OLDEST_REWRITE, parse_bool};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::settings::{Form, InjectionAssumption};

use super::form::{self, Writing};
use super::handlers::{left, since};

fn note(pod: &WorkloadPrediction<'_>, id: &'static str, message: String) -> Finding {
    let object = &pod.workload.object;
    note_at(
        pod,
        id,
        object.label_at(object.name_span(), String::new()),
        message,
    )
}

fn note_at(pod: &WorkloadPrediction<'_>, id: &'static str, at: Label, message: String) -> Finding {
    let object = &pod.workload.object;
    let mut finding = Finding::new(id, Severity::Note, at, message);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding
}

/// The rewrite is switched off, by the owner of the pod or of the mesh.
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
        // Only a proxyless template does it by itself, and that is where it is chosen.
        let chosen = pod.workload.template.annotation(keys::TEMPLATES)?;
        let at = object.label_at(chosen.value.span(), String::new());
        let by_itself = place.is_some_and(|place| place.is_at(&at));
        let said = format!("{title} is left as it is: {}", reason.message);
        return by_itself.then(|| note_at(pod, "proxyless", at, said));
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
    Some(note_at(pod, "opt-out", label, message))
}

/// The pod gets no sidecar, though its namespace does.
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
        let said = format!(
            "{title} is left as it is: it is in ambient mode, where no injector rewrites probes"
        );
        return Some(note(pod, "ambient", said));
    }
    if !is_injected_there(context, pod) {
        return None;
    }
    let object = &pod.workload.object;
    if let Some(entry) = pod.workload.template.host_network() {
        let at = object.label_at(entry.key.span(), String::new());
        let said = format!("{title} is left as it is: pods on the host network get no sidecar");
        return Some(note_at(pod, "host-network", at, said));
    }
    let (namespace, _) = context.namespace_of(object);
    let said = format!("{title} is left as it is: Istio never injects namespace `{namespace}`");
    is_system_namespace(namespace).then(|| note(pod, "system-namespace", said))
}

fn is_injected_there(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let object = &pod.workload.object;
    let given = context.given(object);
    let facts = [&given.overrides, &given.assume];
    let all = |one: &&crate::settings::Facts| one.injection == Some(InjectionAssumption::All);
    let own = pod.workload.template.label(keys::INJECT);
    let label = |key| {
        let found = context.namespace_object(object)?;
        found.label(key)?.value.text()
    };
    facts.iter().any(all)
        || own.is_some_and(|entry| entry.value.text() == Some("true"))
        || label(keys::NAMESPACE_INJECTION) == Some("enabled")
        || label(keys::REVISION).is_some()
}

/// The pod is written in another form than the one asked for, and keeps it.
pub(super) fn form_kept(asked: Form, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let written = form::written(pod).filter(|written| *written != asked)?;
    let is_asked = matches!(pod.dataplane.value, Dataplane::Sidecar | Dataplane::Unknown);
    let said = format!(
        "{} is written in the form `{}` already, and keeps it: two forms together would give the \
         sidecar two envs; to change it, `--undo` it first",
        pod.workload.title(),
        written.as_str()
    );
    is_asked.then(|| note(pod, "form-kept", said))
}

/// What the user should know about a pod that was rewritten.
pub(super) fn of_rewritten(
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
    writing: Writing,
) -> Vec<Finding> {
    let all = [
        job(pod),
        hooks_left(pod),
        release_assumed(pod, wanted),
        port_assumed(pod),
        newer_release(pod, writing),
        opt_in(pod, writing),
    ];
    let told = all.into_iter().flatten();
    told.chain(deadlocks(pod, wanted)).collect()
}

fn job(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let said = format!(
        "the pod template of a Job is immutable: an existing {} has to be deleted first",
        pod.workload.title()
    );
    (pod.workload.object.kind == "Job").then(|| note(pod, "job-immutable", said))
}

/// Reports the value of the annotation that the opt-out replaces.
fn opt_in(pod: &WorkloadPrediction<'_>, writing: Writing) -> Option<Finding> {
    let key = keys::REWRITE_PROBERS;
    let entry = pod.workload.template.annotation(key)?;
    let word = entry.value.text().unwrap_or_default();
    if parse_bool(word) == Some(false) || writing.form == Form::ContainerOnly {
        return None;
    }
    let object = &pod.workload.object;
    let at = object.label_at(entry.value.span(), String::new());
    let said = format!(
        "{}: `{key}` was {word:?} and becomes \"false\"; `--undo` writes \"true\" where the tree shows \
         that the mesh rewrites no probes by default, and deletes the annotation elsewhere",
        pod.workload.title()
    );
    Some(note_at(pod, "opt-in-replaced", at, said))
}

fn hooks_left(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let is_left = |slot: Slot| slot.is_lifecycle() && pod.release.value.is_none();
    let found = left(pod).iter().any(|one| is_left(one.handler.slot));
    let said = format!(
        "the hooks of {} are left as they are: agents before 1.25 do not start on their \
         probers; say `--mesh-version`",
        pod.workload.title()
    );
    found.then(|| note(pod, "hooks-left", said))
}

/// The latest release was taken where it matters: older ones that are modelled leave a handler of
/// this kind alone.
fn release_assumed(
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Option<Finding> {
    if pod.release.certainty >= Certainty::Default {
        return None;
    }
    let gated = wanted.iter().filter_map(|one| Some((one, since(one)?)));
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
    let said = format!(
        "{}: {}; before {since} {kind}{place} is not rewritten; say `--mesh-version`",
        pod.workload.title(),
        because.message
    );
    Some(note(pod, "release-assumed", said))
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
    let said = format!(
        "the probes of {} are pointed at port {}, which is assumed ({}); say `--assume status-port=N`",
        pod.workload.title(),
        pod.status_port.value,
        because.join("; ")
    );
    Some(note(pod, "port-assumed", said))
}

/// Without the opt-out a later injector would record what this release leaves.
fn newer_release(pod: &WorkloadPrediction<'_>, writing: Writing) -> Option<Finding> {
    let left = left(pod);
    let since = left.iter().filter_map(|one| since(one)).min()?;
    let first = left.iter().find(|one| self::since(one) == Some(since))?;
    if writing.opts_out || pod.release.value.is_none() {
        return None;
    }
    let said = format!(
        "{}: {} is left as it is, as this release does; from {since} on the injector would append \
         a second env, which wins: rewrite again before the mesh is updated",
        pod.workload.title(),
        first.title()
    );
    let mut finding = note(pod, "newer-release", said);
    finding.severity = Severity::Warning;
    Some(finding)
}

/// Handlers that the rewrite spoils as the injector's own does: it is written all the same, since
/// leaving it out would not help, and told under the id of the rule that finds it.
fn deadlocks<'p>(
    pod: &'p WorkloadPrediction<'_>,
    wanted: &'p [&HandlerPrediction<'_>],
) -> impl Iterator<Item = Finding> + 'p {
    let struck = wanted
        .iter()
        .filter(|one| one.verdict.cause == Cause::BeforeSidecar);
    struck.map(|one| {
        let is_sure = one.verdict.certainty > Certainty::Assumed;
        let when = if is_sure {
            ""
        } else {
            " where the sidecar is no native one"
        };
        let said = format!(
            "{} is rewritten, as the injector would do it too, and can never pass{when}: the agent \
             starts only after this init container; `meshprobe check` says what helps",
            one.title()
        );
        let at = pod
            .workload
            .object
            .label_at(one.handler.key.span(), String::new());
        let mut finding = note_at(pod, "native-sidecar-startup-deadlock", at, said);
        finding.severity = Severity::Warning;
        finding.certainty = one.verdict.certainty;
        finding.assumptions = one.verdict.assumptions();
        finding
    })
}
