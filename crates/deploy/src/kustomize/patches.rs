//! Patches of a kustomization.
//!
//! Source: kustomize 5.8.2, `PatchTransformer`, `PatchStrategicMergeTransformer` and
//! `PatchJson6902Transformer` in `api/internal/builtins`, `ApplySmPatch` in `api/resmap` and
//! `api/resource`.

use meshprobe_mesh::kube::ObjectId;
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{NodeRef, Span};

use crate::kustomize::accumulator::{Accumulator, note};
use crate::kustomize::inline::{self, Documents};
use crate::kustomize::kustomization::{Kustomization, REFUSED};
use crate::kustomize::locate::{absent_path, file};
use crate::kustomize::merge::merge;
use crate::kustomize::merged::PatchFailure;
use crate::kustomize::node::{Node, Value};
use crate::kustomize::rendering::{Note, Topic};
use crate::kustomize::resource::{
    NameIndex, Resource, identity, make_annotations, restore, with_text_metadata,
};
use crate::kustomize::schema::Type;
use crate::kustomize::selector::Target;
use crate::kustomize::{Scope, json_patch};

/// Maximum number of objects that are recorded for a patch. The patch counts as applied while one of them exists.
const RECORDED: usize = 64;

/// Patch that cannot be parsed.
pub(crate) struct Refused {
    /// The location of the entry in the kustomization.
    pub(crate) at: Span,
    /// The reason.
    pub(crate) message: String,
    /// Its target, if it has one that can be parsed.
    pub(crate) target: Option<Box<Target>>,
}

impl Refused {
    fn new(at: Span, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            target: None,
        }
    }
}

/// Entry of a list of patches.
pub(crate) struct Patch {
    /// The location of the entry in the kustomization.
    pub(crate) at: Span,
    documents: Vec<Node>,
    target: Option<Target>,
    may_rename: bool,
    may_change_kind: bool,
    /// Whether labels and annotations are converted to strings first.
    is_legacy: bool,
    /// Whether the names of the objects are recorded before a JSON patch.
    records_names: bool,
}

/// Parses `patchesStrategicMerge`: files, or inline patches.
pub(crate) fn strategic(sources: &SourceSet, k: &Kustomization<'_>) -> Vec<Result<Patch, Refused>> {
    let read = |item: NodeRef<'_>| {
        let text = item.text().unwrap_or_default();
        let documents = match file(sources, k.folder, text.trim_end()) {
            Some(file) => inline::from_file(file),
            None if text.contains('\n') => inline::from_scalar(item, k, false),
            None => Err(missing(sources, k, text)),
        };
        let mut patch = Patch::new(item.span(), documents)?;
        patch.is_legacy = true;
        Ok(patch)
    };
    let patches: Vec<Result<Patch, Refused>> = k.items("patchesStrategicMerge").map(read).collect();
    match patches.first() {
        // `Config` of `PatchStrategicMergeTransformer` refuses an empty list of documents.
        Some(Ok(first)) if patches.iter().flatten().all(Patch::is_empty) => {
            vec![Err(Refused::new(
                first.at,
                format!("the patch is empty: {REFUSED}"),
            ))]
        }
        _ => patches,
    }
}

/// Parses `patches` or `patchesJson6902`.
pub(crate) fn listed(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    key: &str,
) -> Vec<Result<Patch, Refused>> {
    // Selects the behaviour of `PatchTransformer` or of `PatchJson6902Transformer`.
    let is_current = key == "patches";
    k.items(key)
        .map(|item| entry(sources, k, item, is_current))
        .collect()
}

fn entry(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    item: NodeRef<'_>,
    is_current: bool,
) -> Result<Patch, Refused> {
    let text = |key: &str| {
        item.get(key)
            .and_then(NodeRef::text)
            .filter(|text| !text.is_empty())
    };
    let patch = item
        .get("patch")
        .filter(|patch| patch.text() != Some("") && !patch.is_null());
    let (documents, at) = match (text("path"), patch) {
        (Some(path), None) => {
            let found = file(sources, k.folder, path);
            let at = item.get("path").unwrap_or(item);
            let missing = || Err(missing(sources, k, path));
            (found.map_or_else(missing, inline::any_patch_from_file), at)
        }
        (None, Some(patch)) => (inline::any_patch_from_scalar(patch, k, is_current), item),
        _ => (
            Err(format!("a patch has either `path` or `patch`: {REFUSED}")),
            item,
        ),
    };
    let patch = Patch::new(at.span(), documents).and_then(|patch| match is_current {
        false if patch.is_empty() => {
            let message = format!("the patch is empty: {REFUSED}");
            Err(Refused::new(at.span(), message))
        }
        _ => Ok(patch),
    });
    let mut target = None;
    if let Some(node) = item.get("target").filter(|target| !target.is_null()) {
        let at = node.span();
        let node = k.copy(node);
        let node = node.ok_or_else(|| Refused::new(at, "the target is too large"));
        let found =
            node.and_then(|node| Target::read(&node).map_err(|reason| Refused::new(at, reason)));
        match (&patch, found) {
            (Ok(_), Err(refused)) => return Err(refused),
            (_, found) => target = found.ok(),
        }
    }
    let mut patch = match patch {
        Ok(patch) => patch,
        Err(refused) => {
            let target = target.map(Box::new);
            return Err(Refused { target, ..refused });
        }
    };
    patch.target = target;
    let option = |key: &str| {
        let value = item.get("options").and_then(|options| options.get(key));
        value.and_then(NodeRef::text) == Some("true")
    };
    patch.records_names = is_current;
    patch.may_rename = option("allowNameChange");
    patch.may_change_kind = option("allowKindChange");
    Ok(patch)
}

/// Returns why the patch file that `entry` names is not in the set.
fn missing(sources: &SourceSet, k: &Kustomization<'_>, entry: &str) -> String {
    match absent_path(sources, k.folder, entry) {
        Some(_) => format!("`{entry}` does not exist: {REFUSED}"),
        None => format!("`{entry}` is not among the files read"),
    }
}

impl Patch {
    fn new(at: Span, documents: Documents) -> Result<Self, Refused> {
        let documents = documents.map_err(|reason| match reason.ends_with(REFUSED) {
            true => Refused::new(at, reason),
            false => Refused::new(at, format!("the patch cannot be read: {reason}")),
        })?;
        Ok(Self {
            at,
            documents,
            target: None,
            may_rename: false,
            may_change_kind: false,
            is_legacy: false,
            records_names: false,
        })
    }

    /// Returns whether the text of the patch contains nothing but comments.
    fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the number of objects that are compared with the patch.
    pub(crate) fn compared(&self, names: &NameIndex) -> usize {
        let compared = |name: Option<&str>| names.positions(name).len();
        match &self.target {
            Some(target) => compared(target.literal_name()),
            None => self
                .documents
                .iter()
                .map(|patch| compared(Some(identity(patch).name.name)))
                .sum(),
        }
    }

    /// Applies the patch to its objects. Deleted objects are removed only by [`NameIndex::finish`].
    pub(crate) fn apply(
        &self,
        k: &Kustomization<'_>,
        accumulator: &mut Accumulator,
        names: &mut NameIndex,
    ) {
        let is_list = |node: &&Node| matches!(node.value, Value::Seq(_));
        if let Some(operations) = self.documents.first().filter(is_list) {
            return self.apply_json(k, operations, accumulator, names);
        }
        match (&self.target, self.documents.as_slice()) {
            (Some(target), [patch]) => {
                let patch = with_text_metadata(patch);
                let positions = names.positions(target.literal_name());
                self.merge_into(k, &patch, accumulator, names, &positions, |resource| {
                    target.selects(resource)
                });
            }
            (Some(_), []) => {}
            (Some(_), _) => {
                accumulator.add_note(
                    k,
                    self.at,
                    "several patches share one target: kustomize refuses to build it",
                );
            }
            (None, documents) => {
                for patch in documents {
                    self.apply_by_name(k, patch, accumulator, names);
                }
            }
        }
    }

    fn apply_json(
        &self,
        k: &Kustomization<'_>,
        operations: &Node,
        accumulator: &mut Accumulator,
        names: &mut NameIndex,
    ) {
        let Some(target) = &self.target else {
            accumulator.add_note(
                k,
                self.at,
                "a JSON patch requires a `target`: it is skipped",
            );
            return;
        };
        let mut failed = Vec::new();
        let (values, _) = operations.measure();
        for at in names.positions(target.literal_name()) {
            let resource = accumulator.resources.get(at);
            let Some(resource) = resource.filter(|resource| target.selects(resource)) else {
                continue;
            };
            let mut patched = resource.clone();
            if !accumulator.count_values(values) {
                return;
            }
            let Some(resource) = accumulator.resources.get_mut(at) else {
                continue;
            };
            if self.records_names {
                patched.remember_name();
            }
            make_annotations(&mut patched);
            match json_patch::apply(patched.change(), operations) {
                Ok(()) => {
                    patched.clear_annotations();
                    let is_renamed = resource.name() != patched.name();
                    *resource = patched;
                    if is_renamed {
                        names.note(at, resource);
                    }
                }
                Err(misfit) => failed.push((resource.id(), misfit)),
            }
        }
        self.report_failures(k, failed, accumulator);
    }

    /// Applies a patch without a target to the only object with its identity.
    fn apply_by_name(
        &self,
        k: &Kustomization<'_>,
        patch: &Node,
        accumulator: &mut Accumulator,
        names: &mut NameIndex,
    ) {
        let wanted = identity(patch);
        let mut found = names.positions(Some(wanted.name.name));
        found.retain(|&at| {
            let resource = accumulator.resources.get(at);
            resource.is_some_and(|resource| resource.was_ever(wanted))
        });
        if found.len() == 1 {
            let patch = if self.is_legacy {
                with_text_metadata(patch)
            } else {
                patch.clone()
            };
            return self.merge_into(k, &patch, accumulator, names, &found, |_| true);
        }
        // The patch may apply to a generated or remote object.
        let is_generated = matches!(wanted.name.kind, "ConfigMap" | "Secret");
        if found.is_empty() && (accumulator.has_unknown_objects || is_generated) {
            return;
        }
        let count = if found.is_empty() {
            "no object is"
        } else {
            "several objects are"
        };
        let message = format!(
            "{count} {}/{} of {}: kustomize refuses to build it",
            wanted.name.kind, wanted.name.name, wanted.api_version
        );
        // A kustomization without objects may only hold the patches that others link to.
        let topic = match accumulator.resources.is_empty() {
            true => Topic::Empty,
            false => Topic::Other,
        };
        let note = note(k, self.at, message, Scope::All);
        accumulator.notes.insert(Note { topic, ..note });
    }

    fn merge_into(
        &self,
        k: &Kustomization<'_>,
        patch: &Node,
        accumulator: &mut Accumulator,
        names: &mut NameIndex,
        positions: &[usize],
        selects: impl Fn(&Resource) -> bool,
    ) {
        let mut failed = Vec::new();
        let mut changed = Vec::new();
        let (values, _) = patch.measure();
        for &at in positions {
            let resource = accumulator.resources.get(at);
            if !resource.is_some_and(&selects) {
                continue;
            }
            if !accumulator.count_values(values) {
                return;
            }
            let Some(resource) = accumulator.resources.get_mut(at) else {
                continue;
            };
            match self.merged(resource, patch) {
                Ok(Some(object)) => {
                    if changed.len() < RECORDED {
                        changed.push(resource.id());
                    }
                    let may_rename = self.may_rename || self.may_change_kind;
                    if may_rename {
                        resource.remember_name();
                    }
                    resource.is_intact = false;
                    resource.body = object;
                    if may_rename {
                        names.note(at, resource);
                    }
                }
                Ok(None) => names.delete(at),
                Err(misfit) => failed.push((resource.id(), misfit)),
            }
        }
        accumulator.note_applied(patch, changed);
        self.report_failures(k, failed, accumulator);
    }

    /// Returns the object merged with the patch, and restores the fields that identify the object. Returns `None` if
    /// the patch deletes it.
    fn merged(&self, resource: &mut Resource, patch: &Node) -> Result<Option<Node>, PatchFailure> {
        let old = &resource.body;
        let kind = Type::of(old.text_below(&["apiVersion"]), old.text_below(&["kind"]));
        let Some(mut new) = merge(old, patch, kind)?.filter(|new| !new.is_empty_map()) else {
            return Ok(None);
        };
        restore(old, &mut new, "apiVersion");
        if !self.may_change_kind {
            restore(old, &mut new, "kind");
        }
        if let Some(original) = old.get("metadata") {
            if new.get("metadata").is_none() {
                let origin = &original.origin;
                new.set("metadata", origin, Node::empty_map(origin));
            }
            if let Some(metadata) = new.get_mut("metadata") {
                restore(original, metadata, "namespace");
                if !self.may_rename {
                    restore(original, metadata, "name");
                }
            }
        }
        Ok(Some(new))
    }

    fn report_failures(
        &self,
        k: &Kustomization<'_>,
        failed: Vec<(ObjectId, PatchFailure)>,
        accumulator: &mut Accumulator,
    ) {
        for (id, misfit) in failed {
            let reason = match misfit {
                PatchFailure::Refused(reason) => reason,
                PatchFailure::Exceeds(limit) => {
                    accumulator.leave_out(limit);
                    continue;
                }
            };
            let message = format!("the patch cannot be applied and is skipped: {reason}");
            let note = note(k, self.at, message, Scope::Objects(vec![id]));
            accumulator.note_objects(note);
        }
    }
}
