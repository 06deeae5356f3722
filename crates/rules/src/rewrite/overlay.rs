//! Bases of kustomizations: a file is rewritten only if every overlay of it is compatible with the rewrite.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::gitops::{UnreadOverlay, unread_overlays};
use meshprobe_deploy::kustomize::{
    GeneratedFrom, Limit, Rendering, generator_files, kustomize_build,
};
use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::{ContainerList, Object, ObjectKey, Probe, ProbeHandler, Slot, Workload};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{
    Context, ProberEnvPlace, UnreadableProberEnv, proxy_container, written_prober_env,
};
use meshprobe_predict::predict::{
    HandlerPrediction, RewrittenHandler, WorkloadPrediction, port_of, predicted_handlers,
    unrecorded_field,
};

use crate::rewrite::carriers::carriers;
use crate::rewrite::plan::{Direction, GuardFailure, RewriteInput, refuse};

/// How the overlays treat a workload of a base.
pub(super) enum OverlayResult<'t> {
    /// No kustomization of the tree uses the file.
    Plain,
    /// No overlay changes its probes. Contains the least certain of its predictions.
    CompatibleOverlay(Box<CompatibleOverlay<'t>>),
    /// An overlay changes what a rewrite of the file would change.
    Refused(GuardFailure),
}

/// A workload of a base as all overlays see it.
pub(super) struct CompatibleOverlay<'t> {
    /// The handlers of the file with the facts of an overlay.
    pub(super) prediction: WorkloadPrediction<'t>,
    /// The workload as the overlay renders it.
    pub(super) rendered: Workload<'t>,
}

/// The renderings of the files of the tree.
pub(super) struct Overlays<'a, 't> {
    /// The facts about the renderings.
    context: &'a Context<'t>,
    renderings: &'t [Rendering],
    predictions: &'a [WorkloadPrediction<'t>],
    /// The positions in `predictions` of all renderings of an object.
    places: HashMap<ObjectKey<'a>, Vec<usize>>,
    /// The kustomizations that cannot be read.
    unread: Vec<UnreadOverlay>,
    /// The files that generators copy.
    generated: HashMap<Arc<str>, GeneratedFrom>,
    direction: Direction,
}

impl<'a, 't> Overlays<'a, 't> {
    pub(super) fn new(seen: &RewriteInput<'a, 't>, direction: Direction) -> Self {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (position, prediction) in seen.rendered.iter().enumerate() {
            let key = prediction.workload.object.key();
            places.entry(key).or_default().push(position);
        }
        Self {
            context: seen.overlaid,
            renderings: seen.renderings,
            predictions: seen.rendered,
            places,
            unread: unread_overlays(seen.context.sources, seen.renderings),
            generated: generator_files(seen.context.sources),
            direction,
        }
    }

    /// Iterates over all renderings of a workload of a file, whatever their names are.
    pub(super) fn of<'s>(
        &'s self,
        plain: &'s WorkloadPrediction<'t>,
    ) -> impl Iterator<Item = &'a WorkloadPrediction<'t>> + use<'s, 'a, 't> {
        let found = self.places.get(&plain.workload.object.key());
        found
            .into_iter()
            .flatten()
            .filter_map(|position| self.predictions.get(*position))
    }

    /// Refuses a workload of a file without a look at its renderings: the effect of an overlay is not known, or a
    /// generator copies the text of the file.
    fn refusal_of_file(&self, plain: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
        let object = &plain.workload.object;
        let refusal = |message: String, help: String| {
            refuse(GuardId::KUSTOMIZE_OVERLAY, object.name_span(), message).with_help(help)
        };
        if let Some((limit, overlay)) = self.left_out(object) {
            let overlay = overlay.declaring_file();
            let message = format!("the effect of `{overlay}` on it is not known, because {limit}");
            return Some(refusal(message, limit.help("rewrite")));
        }
        let mut unread = self.unread.iter();
        if let Some(overlay) = unread.find(|overlay| overlay.may_take_in(object.path())) {
            let (path, reason) = (&overlay.path, &overlay.reason);
            return Some(refusal(
                format!("the effect of `{path}` on it is not known: {reason}"),
                format!("fix `{path}`, or leave it out with `--exclude {path}`"),
            ));
        }
        let copy = self.generated.get(object.path())?;
        let (path, generated) = (&copy.kustomization, &copy.object);
        Some(refusal(
            format!("`{path}` copies the file into {generated}, whose content would change"),
            format!("if that content may change, leave it out with `--exclude {path}`"),
        ))
    }

    /// Returns an overlay that was left out and uses the document of an object.
    fn left_out(&self, object: &Object<'_>) -> Option<(Limit, &'t Rendering)> {
        let document = (Arc::clone(object.path()), object.document.index);
        let uses_document = |rendering: &Rendering| {
            if !rendering.used.is_empty() {
                return rendering.used.contains(&document);
            }
            // It is not known what an ApplicationSet would have deployed: it may be any folder.
            let deployed = rendering.deployed.as_ref();
            deployed.is_none_or(|deployed| deployed.contains(object.path()))
        };
        self.renderings
            .iter()
            .filter_map(|rendering| Some((rendering.left_out?, rendering)))
            .find(|(_, rendering)| uses_document(rendering))
    }

    /// Returns how an overlay conflicts with a change of the file, as a predicate.
    fn conflict(&self, own: &PodFingerprint, seen: &WorkloadPrediction<'t>) -> Option<String> {
        let overlaid = PodFingerprint::of(&seen.workload);
        if overlaid != *own {
            let changed = || "changes its probes or how they are rewritten".to_owned();
            return Some(overlaid.added_action(own).unwrap_or_else(changed));
        }
        let object = &seen.workload.object;
        if let Some(note) = self.context.origin_of(object).hidden_changes().first() {
            return Some(format!(
                "makes changes that are not known: {}",
                note.message
            ));
        }
        let note = self.context.origin_of(object).hidden_copies().first()?;
        Some(format!(
            "may copy its probes into other objects: {}",
            note.message
        ))
    }

    /// Refuses a workload of a file because of the overlay that renders it as `object`. `predicate` describes what the
    /// overlay does.
    pub(super) fn refusal(
        &self,
        plain: &WorkloadPrediction<'_>,
        object: &Object<'_>,
        predicate: &str,
    ) -> GuardFailure {
        let id = object.rendered_by;
        let overlay = id.map_or(object.location_file, |id| &id.root);
        let message = format!("`{overlay}` {predicate}");
        let mut renderings = self.renderings.iter();
        let rendering = renderings.find(|rendering| Some(&rendering.id) == id);
        let build = rendering.map_or_else(|| kustomize_build(overlay), Rendering::build);
        refuse(
            GuardId::KUSTOMIZE_OVERLAY,
            plain.workload.object.name_span(),
            message,
        )
        .with_help(self.direction.help(&build))
    }
}

/// Compares the renderings of `plain` with the workload in the file.
pub(super) fn overlaid<'t>(
    plain: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> OverlayResult<'t> {
    if let Some(refusal) = overlays.refusal_of_file(plain) {
        return OverlayResult::Refused(refusal);
    }
    let own = PodFingerprint::of(&plain.workload);
    let mut agreed: Option<CompatibleOverlay<'t>> = None;
    for seen in overlays.of(plain) {
        if let Some(conflict) = overlays.conflict(&own, seen) {
            return OverlayResult::Refused(overlays.refusal(
                plain,
                &seen.workload.object,
                &conflict,
            ));
        }
        if agreed
            .as_ref()
            .is_some_and(|before| !is_alike(&before.prediction, seen))
        {
            let message = "gives it other mesh settings than another overlay of the same file does";
            return OverlayResult::Refused(overlays.refusal(plain, &seen.workload.object, message));
        }
        let weaker = agreed
            .as_ref()
            .is_none_or(|before| rank(seen) < rank(&before.prediction));
        if weaker {
            let prediction = WorkloadPrediction {
                workload: plain.workload.clone(),
                handlers: handlers(plain, seen),
                ..seen.clone()
            };
            agreed = Some(CompatibleOverlay {
                prediction,
                rendered: seen.workload.clone(),
            });
        }
    }
    agreed.map_or(OverlayResult::Plain, |agreed| {
        OverlayResult::CompatibleOverlay(Box::new(agreed))
    })
}

/// Returns the handlers of the file. For a mesh other than Istio, their predictions are known only in the overlay.
fn handlers<'t>(
    plain: &WorkloadPrediction<'t>,
    seen: &WorkloadPrediction<'t>,
) -> Vec<HandlerPrediction<'t>> {
    let is_other = seen.mesh.value.is_some_and(|mesh| mesh != Mesh::ISTIO);
    if !is_other || plain.handlers.len() != seen.handlers.len() {
        return plain.handlers.clone();
    }
    plain
        .handlers
        .iter()
        .zip(&seen.handlers)
        .map(|(plain, seen)| HandlerPrediction {
            container: plain.container.clone(),
            handler: plain.handler.clone(),
            ..seen.clone()
        })
        .collect()
}

/// Returns a refusal if a rewrite of the file cannot be undone because an overlay renders other probes or another
/// prober env.
pub(super) fn undo_refusal<'t>(
    plain: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Option<GuardFailure> {
    if let Some(refusal) = overlays.refusal_of_file(plain) {
        return Some(refusal);
    }
    let own = PodFingerprint::of(&plain.workload);
    overlays.of(plain).find_map(|seen| {
        let conflict = overlays.conflict(&own, seen)?;
        Some(overlays.refusal(plain, &seen.workload.object, &conflict))
    })
}

/// Returns whether one rewrite of the file is correct for both predictions.
fn is_alike(first: &WorkloadPrediction<'_>, second: &WorkloadPrediction<'_>) -> bool {
    first.dataplane.value == second.dataplane.value
        && first.status_port.value == second.status_port.value
        && first.rewrite.value == second.rewrite.value
        && first.release.value == second.release.value
        && first.mesh.value == second.mesh.value
        && (first.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO)
            || rewritten_to(first).eq(rewritten_to(second)))
}

/// Iterates over the rewritten values of a pod's handlers.
fn rewritten_to<'a>(
    pod: &'a WorkloadPrediction<'_>,
) -> impl Iterator<Item = Option<&'a RewrittenHandler>> {
    pod.handlers
        .iter()
        .map(|handler| handler.rewritten_to.as_ref())
}

/// Returns a sort key: the prediction that proves membership in the mesh least comes first.
fn rank(pod: &WorkloadPrediction<'_>) -> (bool, meshprobe_mesh::finding::Certainty) {
    let in_mesh = pod.dataplane.value == meshprobe_predict::context::Dataplane::Sidecar;
    (in_mesh, pod.dataplane.certainty)
}

/// A fingerprint of a pod: pods with equal fingerprints are rewritten and undone in the same way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PodFingerprint {
    handlers: Vec<HandlerFingerprint>,
    /// The values of the annotations in [`SETTINGS`].
    annotations: Vec<Option<String>>,
    place: Option<ProberEnvPlace>,
    probers: Option<Result<BTreeMap<String, String>, UnreadableProberEnv>>,
    /// The number of prober envs.
    carriers: usize,
    /// The list that contains the sidecar in the manifest, and its image.
    proxy: Option<(ContainerList, Option<String>)>,
}

/// The parts of a handler that a rewrite depends on.
#[derive(Debug, PartialEq, Eq)]
struct HandlerFingerprint {
    container: String,
    slot: Slot,
    /// `None` if it cannot be read.
    action: Option<ProbeHandler>,
    /// The keys of all actions in the manifest: the API server rejects more than one.
    kinds: Vec<String>,
    /// A field that the prober env cannot record.
    unrecorded: Option<String>,
    timeout_seconds: Option<i64>,
    /// The number that its port resolves to.
    port: Option<i64>,
}

/// Annotations of a pod that control how its probes are rewritten.
const SETTINGS: [&str; 4] = [
    keys::REWRITE_PROBERS,
    keys::PROXY_CONFIG,
    keys::STATUS_PORT,
    keys::TEMPLATES,
];

impl PodFingerprint {
    pub(super) fn of(workload: &Workload<'_>) -> Self {
        let handlers = predicted_handlers(workload)
            .into_iter()
            .map(|(container, handler)| HandlerFingerprint {
                container: container.name().to_owned(),
                slot: handler.slot,
                port: port_of(workload, &container, &handler),
                timeout_seconds: handler.timeout_seconds,
                kinds: kinds(&handler),
                unrecorded: unrecorded_field(&handler),
                action: handler.action.ok(),
            });
        let annotation = |key: &&str| {
            let entry = workload.template.annotation(key)?;
            entry.value.text().map(str::to_owned)
        };
        let env = written_prober_env(workload);
        Self {
            handlers: handlers.collect(),
            annotations: SETTINGS.iter().map(annotation).collect(),
            place: env.as_ref().map(|env| env.place.clone()),
            probers: env.map(|env| env.probers),
            carriers: carriers(workload),
            proxy: proxy_container(workload).map(|proxy| {
                let image = proxy.image().map(str::to_owned);
                (proxy.list, image)
            }),
        }
    }

    /// Describes the first handler that has several actions here but not in `base`: a merge patch adds an action and
    /// keeps the action of the base.
    pub(super) fn added_action(&self, base: &Self) -> Option<String> {
        let has_several = |handler: &&HandlerFingerprint| {
            handler.kinds.len() > 1 && !base.handlers.contains(handler)
        };
        let found = self.handlers.iter().find(has_several)?;
        Some(format!(
            "gives {} of container `{}` several handlers ({}), which the API server rejects",
            found.slot.key(),
            found.container,
            found.kinds.join(", ")
        ))
    }
}

/// Returns the keys of the handler's actions, sorted.
fn kinds(handler: &Probe<'_>) -> Vec<String> {
    let mut kinds: Vec<String> = handler
        .kinds()
        .filter_map(|key| key.text().map(str::to_owned))
        .collect();
    kinds.sort_unstable();
    kinds
}
