//! The predictions and findings of one state, and the workloads to which a supposed fact applies.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label, sentence_list};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::{DataplaneMove, FactScope};
use meshprobe_predict::context::{Context, Dataplane, NotJudged};
use meshprobe_predict::predict;
use meshprobe_predict::predict::{MachinePrediction, WorkloadPrediction};
use meshprobe_tree::source::chart_of_output;

use super::fields::fields_of;
use super::inputs::ObjectInputs;
use super::probe_state::{Pod, ProbeState};
use crate::engine::{
    AnalysisRequest, Fixes, Predicted, Summary, UnknownEnvironments, finish, isolate_panics, judge,
    problems,
};

/// The predictions and findings of one state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The predictions of all handlers that are reported, in the order of the files.
    pub probes: Vec<ProbeState>,
    /// The findings that the user has not suppressed.
    pub findings: Vec<Finding>,
    /// The findings that the user has suppressed.
    pub suppressed: Vec<Finding>,
    /// What runs pods and is not judged.
    pub not_judged: Vec<NotJudged>,
    /// The number of workloads that `--select-namespace` and `--select-labels` select.
    pub selected: usize,
    /// The workloads to which a supposed fact applies.
    pub readers: FactReaders,
    /// The workloads that a supposed dataplane does not move.
    pub not_moved: Vec<NotMoved>,
    /// What the objects that deploy pods read.
    pub(super) inputs: ObjectInputs,
    /// The findings of rules that the settings switch off.
    pub(super) switched_off: Vec<Finding>,
    /// The counts of the check.
    pub summary: Summary,
    /// The folder or the file of the tree, as shown to the user. Paths that identify a probe are relative to it.
    pub root: String,
}

impl State {
    /// Predicts and checks all files, without fixes. `root` is the folder or the file to which paths in identities are
    /// relative; empty for the working directory. Also returns the names of environments in the settings that the tree
    /// does not have.
    #[must_use]
    pub fn of(request: &AnalysisRequest<'_>, root: &str) -> (Self, Option<UnknownEnvironments>) {
        let set = request.set;
        let judged = || {
            isolate_panics(set, |part| {
                let renderings = request.renderings_of(part);
                let (predicted, checked) = judge(part, &renderings, request.settings);
                (checked, Judged::of(&predicted.sorted(), root))
            })
        };
        let (isolated, problems) = rayon::join(judged, || problems(set));
        let (checked, judged) = isolated.value;
        let request = AnalysisRequest {
            fixes: Fixes::Removed,
            ..*request
        };
        let outcome = finish(&request, checked, (isolated.faults, problems));
        let state = Self {
            probes: judged.probes,
            selected: judged.selected,
            readers: judged.readers,
            not_moved: judged.not_moved,
            inputs: judged.inputs,
            switched_off: outcome.switched_off,
            summary: outcome.summary,
            findings: outcome.findings,
            suppressed: outcome.suppressed,
            not_judged: outcome.not_judged,
            root: root.to_owned(),
        };
        (state, outcome.unknown_environments)
    }

    /// Returns a path relative to the tree. A rendered file of a chart counts as the folder of the chart.
    #[must_use]
    pub fn relative(&self, path: &str) -> String {
        relative(path, &self.root)
    }
}

/// What a state contains of its facts and predictions.
#[derive(Debug, Default)]
struct Judged {
    probes: Vec<ProbeState>,
    selected: usize,
    readers: FactReaders,
    not_moved: Vec<NotMoved>,
    inputs: ObjectInputs,
}

impl Judged {
    fn of(predicted: &Predicted<'_>, root: &str) -> Self {
        let (context, predictions) = (&predicted.context, predicted.predictions.as_slice());
        let is_selected = |pod: &&WorkloadPrediction<'_>| {
            pod.is_target && context.is_selected(&pod.workload.object)
        };
        let machines = predict::machines(context);
        Self {
            selected: predictions.iter().filter(is_selected).count(),
            not_moved: not_moved(context, predictions),
            inputs: ObjectInputs::of(context),
            readers: FactReaders::of(context, predictions, machines.len()),
            probes: probes_of(predicted, &machines, root),
        }
    }
}

/// Returns the predictions of all handlers that are reported.
fn probes_of(
    predicted: &Predicted<'_>,
    machines: &[MachinePrediction<'_>],
    root: &str,
) -> Vec<ProbeState> {
    let relative = |path: &str| relative(path, root);
    let (set, predictions) = (predicted.context.sources, predicted.predictions.iter());
    let pods = predictions.filter(|pod| pod.is_target).map(|pod| {
        let decided_by = (Pod::of(pod, set), fields_of(pod));
        (&pod.workload.object, decided_by)
    });
    let machines = machines
        .iter()
        .map(|machine| (&machine.group, (Pod::default(), Arc::default())));
    let objects = pods.chain(machines).zip(predicted.report());
    objects
        .flat_map(|((object, pod), report)| ProbeState::of_object((object, report), pod, &relative))
        .collect()
}

/// Returns a path relative to the tree. A rendered file of a chart counts as the folder of the chart.
pub(super) fn relative(path: &str, root: &str) -> String {
    below_root(chart_of_output(path).unwrap_or(path), root).to_owned()
}

/// Returns a path relative to `root`; empty for the root itself, and unchanged outside of it.
pub(super) fn below_root<'p>(path: &'p str, root: &str) -> &'p str {
    let below = path
        .strip_prefix(root)
        .filter(|rest| root.is_empty() || rest.is_empty() || rest.starts_with('/'));
    match below {
        Some(rest) if !root.is_empty() => rest.trim_start_matches('/'),
        _ => path,
    }
}

/// Returns the path of a file of the tree `root`, as shown to the user.
pub(super) fn shown_path(root: &str, relative: &str) -> String {
    match (root, relative) {
        ("", path) => path.to_owned(),
        (root, "") => root.to_owned(),
        (root, path) => format!("{root}/{path}"),
    }
}

/// The reported workloads of a state to which a supposed fact applies, by what they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactReaders {
    /// All of them.
    workloads: usize,
    /// Those that are in a mesh.
    in_mesh: usize,
    /// Those of which the tree does not state whether they are in a mesh.
    unknown: usize,
    /// The virtual machines.
    machines: usize,
    /// The meshes of the workloads, each once.
    meshes: Vec<Mesh>,
}

impl FactReaders {
    /// Counts the workloads among predictions, and the virtual machines.
    pub(super) fn of(
        context: &Context<'_>,
        predictions: &[WorkloadPrediction<'_>],
        machines: usize,
    ) -> Self {
        let has_selection = context.settings.selected.is_some();
        let mut readers = Self {
            machines,
            ..Self::default()
        };
        for pod in predictions.iter().filter(|pod| pod.is_target) {
            if has_selection && !context.is_selected(&pod.workload.object) {
                continue;
            }
            readers.workloads += 1;
            let mesh = pod.mesh.value;
            let mesh = mesh.filter(|mesh| !readers.meshes.contains(mesh));
            readers.meshes.extend(mesh);
            match pod.dataplane.value {
                Dataplane::Unknown => readers.unknown += 1,
                Dataplane::None if pod.refused.is_none() => {}
                _ => readers.in_mesh += 1,
            }
        }
        readers
    }

    /// Returns the reason why facts of a scope are not read; `None` if a workload reads them, or if the state does not
    /// contain workloads.
    #[must_use]
    pub fn why_unread(&self, scope: FactScope) -> Option<String> {
        if self.workloads == 0 {
            return None;
        }
        let of_mesh = match scope {
            FactScope::AnyPod => return None,
            FactScope::PodOfIstio | FactScope::SidecarOfIstio => Mesh::ISTIO,
            FactScope::Release(mesh) => mesh,
            FactScope::Sidecar => return self.why_outside(),
        };
        if !self.meshes.contains(&of_mesh) && (self.machines == 0 || of_mesh != Mesh::ISTIO) {
            let titles: Vec<&str> = self.meshes.iter().map(|mesh| mesh.title()).collect();
            return Some(match titles.as_slice() {
                [] => "no workload belongs to a mesh".to_owned(),
                titles => format!(
                    "the workloads belong to {}, and only {} reads it",
                    sentence_list(titles),
                    of_mesh.title()
                ),
            });
        }
        match scope {
            FactScope::SidecarOfIstio => self.why_outside(),
            FactScope::Release(_) if self.machines == 0 => self.why_outside(),
            _ => None,
        }
    }

    /// Returns that no workload is in a mesh, and what is known about them.
    fn why_outside(&self) -> Option<String> {
        if self.in_mesh > 0 {
            return None;
        }
        Some(match self.unknown {
            0 => "no workload is in the mesh".to_owned(),
            _ => "nothing states that a workload is in the mesh; `--override injection=all` supposes that all are"
                .to_owned(),
        })
    }
}

/// A workload that stays where it is, because of a label of its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMoved {
    /// The workload, such as `shop/Deployment/web`.
    pub workload: String,
    /// Whether its pods keep a sidecar, and not ambient mode.
    pub keeps_sidecar: bool,
    /// The key of the label that decides.
    pub label: String,
    /// The line of the label.
    pub place: Label,
}

/// Returns the reported workloads that a label keeps in another dataplane than the user supposes.
pub(super) fn not_moved(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<NotMoved> {
    let reported = predictions.iter().filter(|pod| pod.is_target);
    reported.filter_map(|pod| unmoved(context, pod)).collect()
}

fn unmoved(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<NotMoved> {
    let object = &pod.workload.object;
    let keeps_sidecar = match (
        context.user_facts(object).overrides.dataplane?,
        pod.dataplane.value,
    ) {
        (DataplaneMove::Ambient | DataplaneMove::None, Dataplane::Sidecar) => true,
        (DataplaneMove::Sidecar | DataplaneMove::None, Dataplane::Ambient) => false,
        _ => return None,
    };
    let deciding = match keeps_sidecar {
        true => [keys::INJECT, keys::REVISION].as_slice(),
        false => [keys::DATAPLANE_MODE].as_slice(),
    };
    let mut labels = deciding
        .iter()
        .filter_map(|key| Some((*key, pod.workload.template.label(key)?)));
    let (key, entry) = labels.next()?;
    let namespace = pod.namespace.as_ref().map(|name| format!("{name}/"));
    Some(NotMoved {
        workload: format!(
            "{}{}/{}",
            namespace.unwrap_or_default(),
            object.kind,
            object.name()
        ),
        keeps_sidecar,
        label: key.to_owned(),
        place: object.label_at(entry.key.span(), ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_root() {
        assert_eq!(below_root("a/b.yaml", ""), "a/b.yaml");
        assert_eq!(below_root("/a/b.yaml", ""), "/a/b.yaml");
        assert_eq!(below_root("a/b.yaml", "a"), "b.yaml");
        assert_eq!(below_root("ab/c.yaml", "a"), "ab/c.yaml");
        assert_eq!(below_root("a.yaml", "a.yaml"), "");
    }
}
