//! The effect of `openapi` in a kustomization: another schema decides which lists a patch merges.
//!
//! kustomize has one schema per run. That of the root, or otherwise the first one that it finds, applies to all
//! patches that are merged later, also to those of other kustomizations. A schema from a file replaces the built-in
//! one, so lists of pods that it does not describe are replaced.
//!
//! Source: kustomize 5.8.2, `Run` in `api/krusty/kustomizer.go`, `accumulateDirectory` in
//! `api/internal/target/kusttarget.go` and `SetSchema` in `kyaml/openapi/openapi.go`.

use meshprobe_mesh::kube::ObjectId;

use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::finish::runs_pods;
use crate::kustomize::kustomization::{Dialect, Kustomization};
use crate::kustomize::node::Node;
use crate::kustomize::rendering::Note;

/// Maximum depth of the search for `containers`.
const DEPTH: usize = 32;

/// Objects whose lists an unknown schema may merge in another way.
pub(crate) struct MergedObjects {
    ids: Vec<ObjectId>,
    run_pods: bool,
}

/// Records the schemas and patches of a kustomization. Returns the objects that patches may have merged by one of the
/// schemas; `None` without a schema or without patches.
pub(crate) fn merged_objects(
    layers: &[Kustomization<'_>],
    accumulator: &mut Accumulator,
) -> Option<MergedObjects> {
    for k in layers {
        let patches = ["patches", "patchesStrategicMerge"];
        accumulator.has_merges |= patches.iter().any(|key| k.entry(key).is_some());
        let schema = k
            .entry("openapi")
            .filter(|_| k.dialect == Dialect::Kustomize);
        if let Some(schema) = schema {
            let place = k.origin(schema.key.span());
            accumulator.schemas.insert((place.path, place.span));
        }
    }
    let is_concerned = accumulator.has_merges && !accumulator.schemas.is_empty();
    is_concerned.then(|| MergedObjects {
        ids: accumulator.ids_of(|_| true),
        run_pods: accumulator
            .resources
            .iter()
            .any(|resource| runs_pods(resource) || has_containers(&resource.body, DEPTH)),
    })
}

/// Returns whether a value contains a field `containers`, as the custom resources of operators do.
fn has_containers(node: &Node, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let mut fields = node.fields().iter();
    fields.any(|field| &*field.key == "containers" || has_containers(&field.value, depth))
        || node.items().iter().any(|item| has_containers(item, depth))
}

/// Records in the notes about the schemas that the objects may differ. A replaced list can drop all probes, so the
/// objects are not all known.
pub(crate) fn mark(merged: Option<MergedObjects>, accumulator: &mut Accumulator) {
    let Some(merged) = merged else {
        return;
    };
    let schemas = &accumulator.schemas;
    let mark = |note: Note| match schemas.contains(&(note.path.clone(), note.span)) {
        true => Note {
            changed: merged.ids.clone(),
            adds_unknown: merged.run_pods,
            ..note
        },
        false => note,
    };
    accumulator.notes = std::mem::take(&mut accumulator.notes)
        .into_iter()
        .map(mark)
        .collect();
    accumulator.has_unknown_objects |= merged.run_pods;
}
