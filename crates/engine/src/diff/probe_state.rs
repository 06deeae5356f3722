//! The prediction for one handler in one state, as plain data.

use std::ops::Deref;
use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Finding, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Reason;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, Outcome, WorkloadPrediction};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Entry;

use super::class::is_fault;
use super::fields::{Field, source_of};
use crate::engine::{ProbeReport, WorkloadReport};

/// What identifies a handler in both states. It contains no path of a file, because renaming a file is not a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId {
    /// The kustomization or the deploying object of the environment, relative to the tree; `None` if the object is
    /// deployed as it is written.
    pub environment: Option<String>,
    /// The kind of the object.
    pub kind: String,
    /// The namespace, if it is known.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The container; empty for a virtual machine.
    pub container: String,
    /// The slot, such as `readinessProbe`.
    pub slot: &'static str,
}

impl ProbeId {
    /// Returns `shop/Deployment/web`, with its namespace if one is known.
    #[must_use]
    pub fn workload(&self) -> String {
        let namespace = self.namespace.as_ref().map(|name| format!("{name}/"));
        format!(
            "{}{}/{}",
            namespace.unwrap_or_default(),
            self.kind,
            self.name
        )
    }
}

/// The prediction for one handler in one state.
#[derive(Clone, Debug)]
pub struct ProbeState {
    /// The prediction.
    pub report: ProbeReport,
    /// Its identity.
    pub id: ProbeId,
    /// The file of its object, relative to the tree. It only distinguishes objects with the same identity.
    pub file: String,
    /// The name of the environment for people, such as `prod-eu`.
    pub environment_name: Option<Arc<str>>,
    /// The kustomization that renders the object, as shown to the user.
    pub(super) rendered_by: Option<Arc<str>>,
    /// The file with the object of Flux or Argo CD that deploys the object, relative to the tree.
    pub(super) deployer: Option<String>,
    /// The fields of the pod that decide about its probes; none for a virtual machine.
    pub(super) fields: Arc<[Field]>,
    /// The annotations of the pod; none for a virtual machine.
    pub(super) pod: Arc<Pod>,
}

/// What a state contains about a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct Pod {
    /// The label `sidecar.istio.io/inject`.
    pub(super) inject_label: Option<String>,
    /// The annotation `sidecar.istio.io/inject`.
    pub(super) inject_annotation: Option<String>,
    /// Whether it has the annotation `sidecar.istio.io/nativeSidecar`.
    pub(super) has_native_annotation: bool,
    /// The line of the annotation for which the injector refuses it.
    pub(super) refused_for: Option<String>,
}

impl Pod {
    pub(super) fn of(pod: &WorkloadPrediction<'_>, sources: &SourceSet) -> Self {
        let template = &pod.workload.template;
        Self {
            inject_label: text_of(template.label(keys::INJECT)),
            inject_annotation: text_of(template.annotation(keys::INJECT)),
            has_native_annotation: template.annotation(keys::NATIVE_SIDECAR).is_some(),
            refused_for: refused_for(pod, sources),
        }
    }
}

impl Deref for ProbeState {
    type Target = ProbeReport;

    fn deref(&self) -> &ProbeReport {
        &self.report
    }
}

impl ProbeState {
    /// Returns the states of the probes of an object. `relative` returns a path relative to the tree.
    pub(super) fn of_object(
        (object, workload): (&Object<'_>, WorkloadReport),
        (pod, fields): (Pod, Arc<[Field]>),
        relative: &dyn Fn(&str) -> String,
    ) -> Vec<Self> {
        let pod = Arc::new(pod);
        let WorkloadReport {
            handlers,
            object: reference,
            environment,
            is_machine,
            ..
        } = workload;
        let id = |report: &ProbeReport| ProbeId {
            environment: object.overlay.as_ref().map(|id| relative(id)),
            kind: reference.kind.clone(),
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
            container: report.container.clone(),
            slot: report.slot,
        };
        let states = handlers.into_iter().map(|report| Self {
            id: id(&report),
            report,
            file: relative(object.path()),
            environment_name: environment.clone().filter(|_| !is_machine),
            rendered_by: root_of(object).cloned(),
            deployer: deployer_of(object).map(|path| relative(path)),
            fields: Arc::clone(&fields),
            pod: Arc::clone(&pod),
        });
        states.collect()
    }

    /// Returns whether the prediction is the same: the outcome, its cause, the text of the kubelet, and the
    /// rewrite of an unchanged handler. The lines behind it may differ.
    pub(super) fn is_same_prediction(&self, other: &Self) -> bool {
        if (self.outcome, self.why) != (other.outcome, other.why) {
            return false;
        }
        // Some releases may add pods on the host network to ambient mode, which makes this outcome an assumption.
        if self.outcome == Outcome::NotInMesh && self.certainty != other.certainty {
            return false;
        }
        // The rewrite of a handler that never runs does not matter.
        if self.outcome.is_invalid() {
            return true;
        }
        // The path at the agent contains the name of the container.
        let is_same_handler =
            self.written == other.written && self.id.container == other.id.container;
        let is_same_rewrite = if is_same_handler {
            self.rewritten_to == other.rewritten_to
        } else {
            self.rewritten_to.is_empty() == other.rewritten_to.is_empty()
        };
        is_same_rewrite && (self.kubelet == other.kubelet || !is_same_handler)
    }

    /// Returns whether the tree, or the default of the release, proves this outcome but not that of `after`.
    pub(super) fn is_proven_unlike(&self, after: &Self) -> bool {
        self.certainty >= Certainty::Default && after.certainty < Certainty::Default
    }

    /// Returns what was named differently before, such as "container `web`"; `None` if the handler has the same names.
    /// The environment does not count.
    #[must_use]
    pub fn renamed_from(&self, before: &Self) -> Option<String> {
        let (id, old) = (&self.id, &before.id);
        if id.workload() != old.workload() {
            return Some(format!("`{}`", old.workload()));
        }
        (id.container != old.container).then(|| format!("container `{}`", old.container))
    }

    /// Returns the name of what deploys the handler: that of the environment, or the file of the deploying object.
    #[must_use]
    pub fn environment_title(&self) -> Option<String> {
        let name = self.environment_name.as_deref();
        name.or(self.deployer.as_deref()).map(str::to_owned)
    }

    /// Returns whether a finding reports the outcome of this handler.
    #[must_use]
    pub fn is_subject_of(&self, finding: &Finding) -> bool {
        let reported = finding.probe.as_ref();
        reported.is_some_and(|reported| {
            reported.path == self.place.path && reported.span == self.place.span
        })
    }

    /// Returns whether a finding that names no handler is about the line that decides the fault of this one, such as an
    /// annotation for which the injector refuses the pod. `set` contains the files of the state.
    #[must_use]
    pub fn is_decided_at(&self, finding: &Finding, set: &SourceSet) -> bool {
        let is_object = finding
            .object
            .as_ref()
            .is_some_and(|object| (&object.kind, &object.name) == (&self.id.kind, &self.id.name));
        if !is_object || finding.probe.is_some() || !is_fault(self.outcome) {
            return false;
        }
        let line = |label: &Label| set.file(&label.path).map(|file| file.line_of(label.span));
        let primary = &finding.primary;
        let places = self.because.iter();
        let mut places = places.filter_map(|entry| entry.reason.place.as_ref());
        places.any(|place| place.path == primary.path && line(place) == line(primary))
    }

    /// Returns why the injector refuses the pod, and the line for which it does so; `None` if it does not.
    #[must_use]
    pub fn refusal(&self) -> Option<(&Reason, &Label)> {
        let reason = &self.because.first()?.reason;
        let place = reason.place.as_ref()?;
        (self.cause == Some(Cause::PodRefused)).then_some((reason, place))
    }

    /// Returns the source that shows why the handler has its outcome.
    pub(super) fn source(&self) -> Option<&'static str> {
        self.cause.and_then(source_of)
    }
}

/// Returns the file with the object of Flux or Argo CD that deploys an object.
fn deployer_of<'t>(object: &Object<'t>) -> Option<&'t Arc<str>> {
    let file = object.location_file;
    let is_own = file == object.path() || root_of(object) == Some(file);
    (!is_own).then_some(file)
}

/// Returns the kustomization, or the deploying file, that renders an object.
fn root_of<'t>(object: &Object<'t>) -> Option<&'t Arc<str>> {
    object.rendered_by.map(|rendering| &rendering.root)
}

fn text_of(entry: Option<Entry<'_>>) -> Option<String> {
    entry?.value.text().map(str::to_owned)
}

/// Returns the line of the annotation for which the injector refuses a pod.
fn refused_for(pod: &WorkloadPrediction<'_>, sources: &SourceSet) -> Option<String> {
    let reason = pod.refused.as_ref()?.because.first()?;
    let place = reason.place.as_ref()?;
    let file = sources.file(&place.path)?;
    let line = file.lines().line(&file.text, file.line_of(place.span))?;
    Some(file.text.get(line.start..line.end)?.trim().to_owned())
}
