//! Transformations of the objects of a kustomization.
//!
//! The order is that of kustomize 5.8.2 (`configureBuiltinTransformers` in
//! `api/internal/target/kusttarget_configplugin.go`).

use hashbrown::HashMap;
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{NodeRef, Span};

use crate::kustomize::accumulator::{Accumulator, note};
use crate::kustomize::fields::{self, FieldSpec, Pair, Pairs};
use crate::kustomize::kustomization::{Dialect, Kustomization};
use crate::kustomize::limit::Limit;
use crate::kustomize::node::{Field, Node};
use crate::kustomize::resource::{NameIndex, Resource};
use crate::kustomize::{Scope, images, patches, share};

/// Applies all transformations, and subtracts one step from `work` for each object of each transformation. `layers` are
/// the kustomization and the settings that a deploying object adds to it: lists are concatenated, and the
/// last scalar takes effect.
pub(crate) fn apply(
    sources: &SourceSet,
    layers: &[Kustomization<'_>],
    accumulator: &mut Accumulator,
    work: &mut usize,
) {
    let is_file = |k: &&Kustomization<'_>| k.dialect == Dialect::Kustomize;
    let mut steps = Steps {
        accumulator,
        work,
        names: None,
        is_all_changed: false,
    };
    for k in layers.iter().filter(is_file) {
        for patch in patches::strategic(sources, k) {
            steps.patch(k, patch);
        }
    }
    for k in layers {
        for patch in patches::listed(sources, k, "patches") {
            steps.patch(k, patch);
        }
    }
    steps.finish_patches();
    if let Some(k) = last(layers, "namespace") {
        steps.namespace(k);
    }
    if let Some(k) = last(layers, "namePrefix") {
        steps.name(k, "namePrefix");
    }
    if let Some(k) = last(layers, "nameSuffix") {
        steps.name(k, "nameSuffix");
    }
    for k in layers {
        steps.labels(k);
    }
    for k in layers {
        steps.common_labels(k);
    }
    for k in layers {
        if let Some(entry) = k.entry("commonAnnotations") {
            steps.entries(k, &[(entry.value, fields::annotations())]);
        }
    }
    for k in layers.iter().filter(is_file) {
        for patch in patches::listed(sources, k, "patchesJson6902") {
            steps.patch(k, patch);
        }
    }
    steps.finish_patches();
    for k in layers {
        steps.images(k);
    }
}

/// Returns the last layer that sets `key`.
fn last<'l, 's>(layers: &'l [Kustomization<'s>], key: &str) -> Option<&'l Kustomization<'s>> {
    layers.iter().rev().find(|k| k.entry(key).is_some())
}

/// The places of an object in which labels are usually set.
const PLACES: usize = 3;

struct Steps<'a> {
    accumulator: &'a mut Accumulator,
    work: &'a mut usize,
    /// The index of names, which exists while patches are applied.
    names: Option<NameIndex>,
    /// Whether the note about an unreadable patch names all objects.
    is_all_changed: bool,
}

impl Steps<'_> {
    /// Counts one step for each object. Returns `false` and leaves out all objects if the limit is exceeded.
    fn count_all(&mut self) -> bool {
        self.count(self.accumulator.resources.len())
    }

    /// Counts the values that a field adds to each object, in `places` of it at most.
    fn count_added(&mut self, places: usize) -> bool {
        let values = self.accumulator.resources.len().saturating_mul(places);
        self.accumulator.count_values(values)
    }

    fn count(&mut self, objects: usize) -> bool {
        let left = self.work.checked_sub(objects);
        *self.work = left.unwrap_or_default();
        if left.is_none() {
            self.accumulator.leave_out(Limit::Steps);
        }
        left.is_some()
    }

    fn patch(&mut self, k: &Kustomization<'_>, patch: Result<patches::Patch, patches::Refused>) {
        match patch {
            Ok(patch) => {
                let resources = &self.accumulator.resources;
                let mut names = self
                    .names
                    .take()
                    .unwrap_or_else(|| NameIndex::of(resources));
                if self.count(1 + patch.compared(&names)) {
                    patch.apply(k, self.accumulator, &mut names);
                    self.names = Some(names);
                }
            }
            Err(refused) => {
                self.finish_patches();
                self.accumulator.add_note(k, refused.at, refused.message);
                match refused.target.as_deref() {
                    Some(target) => {
                        let changed = self.accumulator.ids_of(|object| target.selects(object));
                        self.accumulator.mark_changed(k, refused.at, &changed);
                    }
                    // Naming all objects once is sufficient, and does not multiply patches with objects.
                    None if self.is_all_changed => {}
                    None => {
                        self.accumulator.mark_all_changed(k, refused.at);
                        self.is_all_changed = true;
                    }
                }
            }
        }
    }

    /// Removes the objects that patches have deleted.
    fn finish_patches(&mut self) {
        if let Some(names) = self.names.take() {
            names.finish(&mut self.accumulator.resources);
        }
    }

    fn namespace(&mut self, k: &Kustomization<'_>) {
        let Some(entry) = k.entry("namespace") else {
            return;
        };
        let text = entry.value.text();
        let Some(text) = text.filter(|_| self.count_all()) else {
            return;
        };
        let key = k.origin(entry.key.span());
        let value = Node::text_at(text, &k.origin(entry.value.span()));
        // A build that kustomize refuses has no objects in the namespace: they are facts as they are written.
        if self.has_conflict(k, text, entry.value.span()) {
            return;
        }
        for resource in &mut self.accumulator.resources {
            resource.set_namespace(&key, &value);
        }
    }

    /// Adds notes about objects of two namespaces that would become equal in one namespace. Returns whether there are any.
    fn has_conflict(&mut self, k: &Kustomization<'_>, namespace: &str, at: Span) -> bool {
        let Accumulator {
            resources, notes, ..
        } = &mut *self.accumulator;
        let mut seen = HashMap::with_capacity(resources.len());
        let mut has_conflict = false;
        for resource in &*resources {
            let identity = resource.identity_in(namespace);
            if let Some(other) = seen.insert(identity, resource) {
                let title = format!("{}/{}", identity.name.kind, identity.name.name);
                let message = format!("two objects become {title}: kustomize refuses to build it");
                let scope = Scope::Objects(vec![Resource::id(other), resource.id()]);
                notes.insert(note(k, at, message, scope));
                has_conflict = true;
            }
        }
        has_conflict
    }

    fn name(&mut self, k: &Kustomization<'_>, key: &str) {
        let text = k.entry(key).and_then(|entry| entry.value.text());
        let text = text.unwrap_or_default();
        let (prefix, suffix) = match key {
            "namePrefix" => (text, ""),
            _ => ("", text),
        };
        if !text.is_empty() && self.count_all() && self.count_added(1) {
            for resource in &mut self.accumulator.resources {
                resource.rename(prefix, suffix);
            }
        }
    }

    fn labels(&mut self, k: &Kustomization<'_>) {
        let mut all = Vec::new();
        for label in k.items("labels") {
            let is_set = |key: &str| label.get(key).and_then(NodeRef::text) == Some("true");
            let mut specs = custom_fields(label);
            if is_set("includeSelectors") {
                specs.extend(fields::all_labels());
            } else {
                specs.extend(fields::labels(
                    is_set("includeTemplates"),
                    is_set("includeVolumeClaimTemplates"),
                ));
            }
            if let Some(pairs) = label.get("pairs") {
                all.push((pairs, specs));
            }
        }
        self.entries(k, &all);
    }

    fn common_labels(&mut self, k: &Kustomization<'_>) {
        let Some(entry) = k.entry("commonLabels") else {
            return;
        };
        let is_set = |key: &str| k.root.get(key).and_then(NodeRef::text) == Some("true");
        let specs = match k.dialect {
            // `kustomize edit add label --without-selector`, `--include-templates`.
            Dialect::Argo if is_set("labelWithoutSelector") => {
                fields::labels(is_set("labelIncludeTemplates"), false)
            }
            _ => fields::all_labels(),
        };
        self.entries(k, &[(entry.value, specs)]);
    }

    /// Sets all entries of each mapping in its fields, object by object.
    fn entries(&mut self, k: &Kustomization<'_>, all: &[(NodeRef<'_>, Vec<FieldSpec>)]) {
        let mut copies = Vec::with_capacity(all.len());
        for (pairs, specs) in all {
            let at = pairs.span();
            match k.copy(*pairs) {
                Some(pairs) => copies.push((pairs, at, specs)),
                None => self
                    .accumulator
                    .add_note(k, at, "too many entries: they are skipped"),
            }
        }
        let all: Vec<Pairs<'_>> = copies
            .iter()
            .map(|(pairs, at, specs)| {
                let places = specs.len().min(PLACES);
                let is_counted = |_: &&Field| self.count_all() && self.count_added(places);
                let fields = pairs.fields().iter().take_while(is_counted);
                let pairs = fields.map(|field| pair(k, *at, field)).collect();
                Pairs { pairs, specs }
            })
            .collect();
        let mut failures = Vec::new();
        for resource in &mut self.accumulator.resources {
            for failed in fields::set_all(resource, &all) {
                let message = format!(
                    "`{}` cannot be set: the object has no mapping there",
                    failed.key
                );
                let scope = Scope::Objects(vec![resource.id()]);
                failures.push(note(k, failed.at, message, scope));
            }
        }
        for failure in failures {
            self.accumulator.note_objects(failure);
        }
    }

    fn images(&mut self, k: &Kustomization<'_>) {
        let entries = k.items("images").chain(k.items("imageTags"));
        let copies: Vec<Node> = entries
            .filter_map(|entry| k.copy(entry).filter(|_| self.count_all()))
            .collect();
        let resources = self.accumulator.resources.iter_mut();
        images::apply(
            &copies,
            resources.filter(|found| found.name().kind != "CustomResourceDefinition"),
        );
    }
}

/// Returns the entry to set for `field` of a mapping at `at`.
fn pair<'f>(k: &Kustomization<'_>, at: Span, field: &'f Field) -> Pair<'f> {
    let text = field.value.text().unwrap_or_default();
    let mut value = Node::text_at(text, &field.value.origin);
    share::mark_shared(&mut value);
    Pair {
        key: &field.key,
        key_origin: &field.origin,
        value,
        at: match k.root.tree().is_composed() {
            true => at,
            false => field.origin.span,
        },
    }
}

/// Returns the `fields` of an entry of `labels`.
fn custom_fields(label: NodeRef<'_>) -> Vec<FieldSpec> {
    let spec = |field: NodeRef<'_>| {
        FieldSpec::read(|key| field.get(key).and_then(NodeRef::text).unwrap_or_default())
    };
    label
        .get("fields")
        .into_iter()
        .flat_map(NodeRef::items)
        .map(spec)
        .filter(|spec| !spec.path.is_empty())
        .collect()
}
