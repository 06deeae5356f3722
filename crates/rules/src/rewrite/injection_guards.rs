//! Guards of injection: the pod must get a sidecar, and the sidecar must read the env from its carrier.

use meshprobe_mesh::finding::{Assumption, Certainty, GuardId};
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::install::NativeSidecars;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Mesh, Reason};
use meshprobe_mesh::settings::InjectionAssumption;
use meshprobe_predict::context::{Context, Dataplane, proxy_container};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;

use crate::rewrite::plan::{GuardFailure, name_span, refuse};

/// Refuses unless injection follows from the tree, an option assumes it, or a stream selects a revision.
pub(super) fn injection(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> Option<GuardFailure> {
    let given = context.user_facts(&pod.workload.object);
    let facts = [&given.overrides, &given.assume];
    let by_option = facts
        .iter()
        .any(|facts| facts.injection == Some(InjectionAssumption::All));
    let proven = by_option || pod.dataplane.is_proven_or_assumed_by_user();
    // The template guard handles templates without traffic capture.
    if pod.dataplane.value == Dataplane::Uncaptured {
        return None;
    }
    let accepted = || proven || GivenRevision::of(context, pod).is_some();
    if pod.dataplane.value == Dataplane::Sidecar && accepted() {
        return None;
    }
    Some(injection_unproven(context, pod))
}

/// Refuses an `istio-proxy` among the init containers that is not a sidecar of its own, if the injected sidecar may be
/// classic: the injector then adds a second `istio-proxy` to `containers`, which does not get that env. Measured with
/// the webhook of Istio 1.31 (`tests/oracle/istio.sh`).
pub(super) fn init_proxy<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Option<GuardFailure> {
    let proxy = proxy_container(&pod.workload)?;
    let is_partial = proxy.image().is_none_or(|image| image == "auto");
    let native = context.pod_facts(&pod.workload).native_sidecars();
    let is_native = native.value == NativeSidecars::On && native.is_proven_or_assumed_by_user();
    let is_own = !is_partial && proxy.is_native_sidecar();
    (proxy.list == ContainerList::Init && !is_own && !is_native).then(|| {
        let message = "its `istio-proxy` container is in `initContainers`, and a classic sidecar \
                       ignores its env";
        refuse(GuardId::PROXY_IN_INIT_CONTAINERS, name_span(pod), message)
            .with_help(
                "move it to the end of `containers`, or use `--assume native-sidecars=true` if the mesh has \
                 native sidecars",
            )
    })
}

/// Refuses a pod that the injector rejects because of an annotation. Other guards refuse an invalid port of the agent and
/// an invalid `proxy.istio.io/config`.
pub(super) fn rejected_pod(pod: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
    let refused = pod.refused.as_ref()?;
    let reason = refused.because.first()?;
    let span = reason.place.as_ref().map(|place| place.span);
    let span = span.unwrap_or_else(|| name_span(pod));
    let settle = refused.because.iter().find_map(|reason| reason.settle);
    let failure = refuse(GuardId::ADMISSION_REFUSED, span, reason.message.clone());
    Some(match settle {
        Some(option) if refused.certainty < Certainty::Default => failure.with_help(format!(
            "correct the annotation; it is accepted by other releases (`{option}`)"
        )),
        _ => failure.with_help("correct the annotation"),
    })
}

/// What an option of a served revision starts with.
const REVISION: &str = "--assume revision=";

/// Returns the refusal of a pod of which it is not known whether it is injected. The reason and the help are those of
/// the fact that is missing: the Namespace, the control plane of a revision, or another one.
pub(super) fn injection_unproven(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
) -> GuardFailure {
    let (why, help) = match SelectedRevision::of(context, pod) {
        Some(revision) => revision.reason_and_help(context, pod),
        None => (unproven_reason(pod), unproven_help(context, pod)),
    };
    let message = format!("nothing proves that it will be injected ({why})");
    refuse(GuardId::INJECTION_UNPROVEN, name_span(pod), message).with_help(help)
}

/// A revision that the manifests of a stream select. A stream contains what is deployed together, which rarely includes the
/// control plane, so it is taken as given that one serves the revision.
pub(super) struct GivenRevision(SelectedRevision);

impl GivenRevision {
    /// Returns the revision if nothing else about the injection of the pod is assumed.
    pub(super) fn of(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Self> {
        let object = &pod.workload.object;
        let file = context.sources.file(&object.document.path);
        let is_stream = file.is_none_or(|file| file.location.is_none());
        let is_certain = |reason: &Reason| reason.settle.is_none() || depends_on_revision(reason);
        let is_given = is_stream
            && pod.dataplane.value == Dataplane::Sidecar
            && pod.dataplane.certainty == Certainty::Assumed
            && pod.dataplane.because.iter().all(is_certain)
            && context.namespace_of(object).manifest().is_some();
        let revision = SelectedRevision::of(context, pod);
        revision.filter(|_| is_given).map(Self)
    }

    /// Returns the assumption, and the option that states it.
    pub(super) fn assumption(&self) -> Assumption {
        let SelectedRevision { name, selected_by } = &self.0;
        Assumption {
            fact: format!("a control plane serves revision `{name}`, which {selected_by}"),
            option: Some(format!("{REVISION}{name}").into()),
        }
    }
}

/// A revision of Istio that no control plane in scope serves for certain.
struct SelectedRevision {
    name: String,
    /// What selects it.
    selected_by: String,
}

impl SelectedRevision {
    /// Returns the revision that injection depends on; `None` if it depends on something else.
    fn of(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Self> {
        let object = &pod.workload.object;
        let namespace = context.namespace_of(object).manifest();
        let own = pod.workload.template.label(keys::REVISION);
        let of_pod = || {
            let name = own?.value.text()?;
            let selected_by = format!("the pod template selects with `{}`", keys::REVISION);
            Some((name, selected_by))
        };
        let is_open = pod.dataplane.because.iter().any(depends_on_revision);
        let (name, selected_by) = match namespace {
            Some(namespace) if is_open => {
                let by = format!("Namespace `{}` selects", namespace.name());
                match (
                    namespace.label(keys::NAMESPACE_INJECTION),
                    namespace.label(keys::REVISION),
                ) {
                    (Some(_), _) => Some(("default", by)),
                    (None, Some(label)) => Some((label.value.text()?, by)),
                    (None, None) => of_pod(),
                }
            }
            None if pod.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO) => of_pod(),
            _ => None,
        }?;
        (!placeholder::contains(name)).then(|| Self {
            name: name.to_owned(),
            selected_by,
        })
    }

    fn reason_and_help(
        &self,
        context: &Context<'_>,
        pod: &WorkloadPrediction<'_>,
    ) -> (String, String) {
        let Self { name, selected_by } = self;
        let object = &pod.workload.object;
        let unserved = format!(
            "it is not known whether a control plane serves revision `{name}`, which {selected_by}"
        );
        if context.namespace_of(object).manifest().is_some() {
            let help = format!(
                "add the manifest of the control plane to the run (`--context`), or use `{REVISION}{name}`"
            );
            return (unserved, help);
        }
        let namespace = context.namespace_of(object).name;
        let why = format!("no Namespace manifest for `{namespace}` in scope, and {unserved}");
        let help = format!(
            "add the manifests of the Namespace and of the control plane to the run (`--context`), or use \
             `--assume injection=all {REVISION}{name}`"
        );
        (why, help)
    }
}

fn depends_on_revision(reason: &Reason) -> bool {
    reason
        .settle
        .is_some_and(|settle| settle.starts_with(REVISION))
}

/// Returns the assumptions, or all reasons if nothing is assumed.
fn unproven_reason(pod: &WorkloadPrediction<'_>) -> String {
    let because = &pod.dataplane.because;
    let messages = |is_wanted: fn(&Reason) -> bool| {
        let wanted = because.iter().filter(|reason| is_wanted(reason));
        let messages: Vec<&str> = wanted.map(|reason| reason.message.as_str()).collect();
        messages.join("; ")
    };
    let assumed = messages(|reason| reason.settle.is_some());
    if assumed.is_empty() || pod.dataplane.certainty == Certainty::Unknown {
        return messages(|_| true);
    }
    format!("assumed: {assumed}")
}

/// Returns what settles whether the pod is injected.
fn unproven_help(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> String {
    let because = &pod.dataplane.because;
    let settle = because.iter().find_map(|reason| reason.settle);
    let option = settle.map(|settle| settle.trim_end_matches("|none"));
    if is_filled_in(pod) {
        let help = "rewrite the output of the tool that fills it in";
        let is_istio = pod.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO);
        let option = if is_istio {
            ", or use `--override injection=all`"
        } else {
            ""
        };
        return format!("{help}{option}");
    }
    let namespace = context.namespace_of(&pod.workload.object);
    if namespace.manifest().is_none() {
        return format!(
            "add the Namespace manifest to the run (`--context`), or use `{}`",
            option.unwrap_or("--assume injection=all")
        );
    }
    format!("use `{}`", option.unwrap_or("--override injection=all"))
}

/// Returns whether another tool fills in a value that decides. Such a value is written in the tree.
fn is_filled_in(pod: &WorkloadPrediction<'_>) -> bool {
    let fact = &pod.dataplane;
    fact.certainty == Certainty::Unknown && fact.because.iter().all(|reason| reason.place.is_some())
}
