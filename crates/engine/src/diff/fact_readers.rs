//! Counts the workloads that read a supposed fact, or that a supposed dataplane does not move.

use meshprobe_mesh::finding::{Label, sentence_list};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::{DataplaneMove, FactScope};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::WorkloadPrediction;

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
