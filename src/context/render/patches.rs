//! The patches of a kustomization, and how they are applied.
//!
//! Source: kustomize 5.8.2, `PatchTransformer`, `PatchStrategicMergeTransformer` and
//! `PatchJson6902Transformer` in `api/internal/builtins`, `ApplySmPatch` in `api/resmap` and
//! `api/resource`.

use crate::source::SourceSet;
use crate::yaml::{NodeRef, Span};

use super::gather::{Gathered, note};
use super::inline::{self, Documents};
use super::json_patch;
use super::kustomization::Kustomization;
use super::locate::file;
use super::merge::{Misfit, merge};
use super::metadata::{make_annotations, restore, with_text_metadata};
use super::name_index::NameIndex;
use super::node::{Node, Value};
use super::resource::{Resource, identity};
use super::schema::Type;
use super::selector::Target;
use super::{ObjectId, Scope};

/// How many objects are recorded for which a patch is: it counts as applied while one of them is there.
const RECORDED: usize = 64;

/// A patch that cannot be used.
pub(super) struct Refused {
    /// Where the kustomization names it.
    pub(super) at: Span,
    /// Why.
    pub(super) message: String,
    /// What it is for, where that is said.
    pub(super) target: Option<Box<Target>>,
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

/// One entry of a list of patches.
pub(super) struct Patch {
    /// Where the kustomization names it.
    pub(super) at: Span,
    documents: Vec<Node>,
    target: Option<Target>,
    may_rename: bool,
    may_change_kind: bool,
    /// Labels and annotations go through a conversion to strings first.
    is_legacy: bool,
    /// The names of the objects are remembered before a JSON patch.
    remembers: bool,
}

/// Reads `patchesStrategicMerge`: files, or patches in strings.
pub(super) fn strategic(sources: &SourceSet, k: &Kustomization<'_>) -> Vec<Result<Patch, Refused>> {
    let read = |item: NodeRef<'_>| {
        let text = item.text().unwrap_or_default();
        let documents = match file(sources, k.folder, text.trim_end()) {
            Some(file) => inline::from_file(file),
            None if text.contains('\n') => inline::from_scalar(item, k, false),
            None => Err(format!("`{text}` is not among the files read")),
        };
        let mut patch = Patch::new(item.span(), documents)?;
        patch.is_legacy = true;
        Ok(patch)
    };
    k.items("patchesStrategicMerge").map(read).collect()
}

/// Reads `patches` or `patchesJson6902`.
pub(super) fn listed(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    key: &str,
) -> Vec<Result<Patch, Refused>> {
    let items = k.items(key);
    // What `PatchTransformer` does and `PatchJson6902Transformer` does not.
    let is_current = key == "patches";
    items
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
    let (documents, at) = match (text("path"), item.get("patch")) {
        (Some(path), None) => {
            let found = file(sources, k.folder, path);
            let missing = || Err(format!("`{path}` is not among the files read"));
            let at = item.get("path").unwrap_or(item);
            (found.map_or_else(missing, inline::from_file), at)
        }
        (None, Some(patch)) => (inline::from_scalar(patch, k, is_current), item),
        _ => (Err("a patch has either `path` or `patch`".to_owned()), item),
    };
    let read = Patch::new(at.span(), documents);
    let mut target = None;
    if let Some(node) = item.get("target").filter(|target| !target.is_null()) {
        let at = node.span();
        let node = k.copy(node);
        let node = node.ok_or_else(|| Refused::new(at, "the target is too large"));
        let found =
            node.and_then(|node| Target::read(&node).map_err(|reason| Refused::new(at, reason)));
        match (&read, found) {
            (Ok(_), Err(refused)) => return Err(refused),
            (_, found) => target = found.ok(),
        }
    }
    let mut patch = match read {
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
    patch.remembers = is_current;
    patch.may_rename = option("allowNameChange");
    patch.may_change_kind = option("allowKindChange");
    Ok(patch)
}

impl Patch {
    fn new(at: Span, documents: Documents) -> Result<Self, Refused> {
        let documents = documents
            .map_err(|reason| Refused::new(at, format!("the patch cannot be read: {reason}")))?;
        Ok(Self {
            at,
            documents,
            target: None,
            may_rename: false,
            may_change_kind: false,
            is_legacy: false,
            remembers: false,
        })
    }

    /// Returns how many objects are compared with the patch.
    pub(super) fn compared(&self, names: &NameIndex) -> usize {
        let compared = |name: Option<&str>| names.positions(name).len();
        match &self.target {
            Some(target) => compared(target.literal_name()),
            None => {
                let each = self.documents.iter();
                each.map(|patch| compared(Some(identity(patch).name.name)))
                    .sum()
            }
        }
    }

    /// Changes the objects that the patch is for. Those that it deletes stay until `names` is finished.
    pub(super) fn apply(
        &self,
        k: &Kustomization<'_>,
        gathered: &mut Gathered,
        names: &mut NameIndex,
    ) {
        let is_list = |node: &&Node| matches!(node.value, Value::Seq(_));
        if let Some(operations) = self.documents.first().filter(is_list) {
            return self.apply_json(k, operations, gathered, names);
        }
        match (&self.target, self.documents.as_slice()) {
            (Some(target), [patch]) => {
                let patch = with_text_metadata(patch);
                let positions = names.positions(target.literal_name());
                self.merge_into(k, &patch, gathered, names, &positions, |resource| {
                    target.selects(resource)
                });
            }
            (Some(_), _) => {
                gathered.tell(
                    k,
                    self.at,
                    "several patches share one target: kustomize refuses to build it",
                );
            }
            (None, documents) => {
                for patch in documents {
                    self.apply_by_name(k, patch, gathered, names);
                }
            }
        }
    }

    fn apply_json(
        &self,
        k: &Kustomization<'_>,
        operations: &Node,
        gathered: &mut Gathered,
        names: &mut NameIndex,
    ) {
        let Some(target) = &self.target else {
            gathered.tell(k, self.at, "a JSON patch needs a `target`: it is left out");
            return;
        };
        let mut failed = Vec::new();
        for at in names.positions(target.literal_name()) {
            let resource = gathered.resources.get_mut(at);
            let Some(resource) = resource.filter(|one| target.selects(one)) else {
                continue;
            };
            let mut patched = resource.clone();
            if self.remembers {
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
        self.tell(k, failed, gathered);
    }

    /// A patch without a target is for the one object with its name.
    fn apply_by_name(
        &self,
        k: &Kustomization<'_>,
        patch: &Node,
        gathered: &mut Gathered,
        names: &mut NameIndex,
    ) {
        let wanted = identity(patch);
        let mut found = names.positions(Some(wanted.name.name));
        found.retain(|&at| {
            let resource = gathered.resources.get(at);
            resource.is_some_and(|one| one.was_ever(wanted))
        });
        if found.len() == 1 {
            let patch = if self.is_legacy {
                with_text_metadata(patch)
            } else {
                patch.clone()
            };
            return self.merge_into(k, &patch, gathered, names, &found, |_| true);
        }
        // It may be for an object that is generated or fetched.
        let is_generated = matches!(wanted.name.kind, "ConfigMap" | "Secret");
        if found.is_empty() && (gathered.is_open || is_generated) {
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
        gathered.tell(k, self.at, message);
    }

    fn merge_into(
        &self,
        k: &Kustomization<'_>,
        patch: &Node,
        gathered: &mut Gathered,
        names: &mut NameIndex,
        positions: &[usize],
        selects: impl Fn(&Resource) -> bool,
    ) {
        let mut failed = Vec::new();
        let mut changed = Vec::new();
        for &at in positions {
            let resource = gathered.resources.get_mut(at);
            let Some(resource) = resource.filter(|one| selects(one)) else {
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
                    resource.body.replace(object);
                    if may_rename {
                        names.note(at, resource);
                    }
                }
                Ok(None) => names.delete(at),
                Err(misfit) => failed.push((resource.id(), misfit)),
            }
        }
        gathered.note_applied(patch, changed);
        self.tell(k, failed, gathered);
    }

    /// Merges, and gives the object back what identifies it.
    fn merged(&self, resource: &mut Resource, patch: &Node) -> Result<Option<Node>, Misfit> {
        let old = resource.body.read();
        let kind = Type::of(old.text_below(&["apiVersion"]), old.text_below(&["kind"]));
        let Some(mut new) = merge(old, patch, kind)?.filter(|new| !new.is_empty_map()) else {
            return Ok(None);
        };
        restore(old, &mut new, "apiVersion");
        if !self.may_change_kind {
            restore(old, &mut new, "kind");
        }
        if let Some(own) = old.get("metadata") {
            if new.get("metadata").is_none() {
                new.set("metadata", &own.origin, Node::empty_map(&own.origin));
            }
            if let Some(metadata) = new.get_mut("metadata") {
                restore(own, metadata, "namespace");
                if !self.may_rename {
                    restore(own, metadata, "name");
                }
            }
        }
        Ok(Some(new))
    }

    fn tell(
        &self,
        k: &Kustomization<'_>,
        failed: Vec<(ObjectId, Misfit)>,
        gathered: &mut Gathered,
    ) {
        for (id, misfit) in failed {
            let reason = match misfit {
                Misfit::Refused(reason) => reason,
                Misfit::Exceeds(limit) => {
                    gathered.leave_out(limit);
                    continue;
                }
            };
            let message = format!("the patch does not fit and is left out: {reason}");
            let told = note(k, self.at, message, Scope::Objects(vec![id]));
            gathered.notes.insert(told);
        }
    }
}
