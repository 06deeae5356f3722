//! What a kustomization changes in the objects that it has taken in.
//!
//! The order is that of kustomize 5.8.2 (`configureBuiltinTransformers` in
//! `api/internal/target/kusttarget_configplugin.go`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::source::SourceSet;
use crate::yaml::{NodeRef, Span};

use super::Scope;
use super::fields::{self, FieldSpec};
use super::gather::{Gathered, note};
use super::images::Image;
use super::kustomization::Kustomization;
use super::node::Node;
use super::patches;
use super::share;

/// Applies all transformations of `k`; each costs what is gathered.
pub(super) fn apply(
    sources: &SourceSet,
    k: &Kustomization<'_>,
    gathered: &mut Gathered,
    work: &mut usize,
) {
    let mut steps = Steps {
        k: *k,
        gathered,
        work,
    };
    for patch in patches::strategic(sources, k) {
        steps.patch(patch);
    }
    for patch in patches::listed(sources, k, "patches") {
        steps.patch(patch);
    }
    steps.namespace();
    steps.names();
    steps.labels();
    if let Some(entry) = k.entry("commonAnnotations") {
        steps.entries(entry.value, &fields::annotations());
    }
    for patch in patches::listed(sources, k, "patchesJson6902") {
        steps.patch(patch);
    }
    steps.images();
}

struct Steps<'a, 's> {
    k: Kustomization<'s>,
    gathered: &'a mut Gathered,
    work: &'a mut usize,
}

impl Steps<'_, '_> {
    /// Pays for a step over all objects; tells whether there is enough left.
    fn pay(&mut self, at: Span) -> bool {
        let cost = self.gathered.resources.len();
        let left = self.work.checked_sub(cost);
        *self.work = left.unwrap_or_default();
        if left.is_none() {
            let message = "the kustomizations are too many: this change is left out";
            self.gathered.tell(&self.k, at, message);
        }
        left.is_some()
    }

    fn patch(&mut self, patch: Result<patches::Patch, patches::Refused>) {
        match patch {
            Ok(patch) if self.pay(patch.at) => patch.apply(&self.k, self.gathered),
            Ok(_) => {}
            Err((at, message)) => self.gathered.tell(&self.k, at, message),
        }
    }

    fn namespace(&mut self) {
        let Some(entry) = self.k.entry("namespace") else {
            return;
        };
        let Some(text) = entry.value.text().filter(|_| self.pay(entry.key.span())) else {
            return;
        };
        let key = self.k.origin(entry.key.span());
        let value = Node::text_at(text, &self.k.origin(entry.value.span()));
        for resource in &mut self.gathered.resources {
            resource.set_namespace(&key, &value);
        }
        self.tell_conflicts(entry.value.span());
    }

    /// Objects of two namespaces may meet in one.
    fn tell_conflicts(&mut self, at: Span) {
        let mut seen = HashMap::new();
        for resource in &self.gathered.resources {
            let identity = resource.identity();
            let title = format!("{}/{}", identity.name.kind, identity.name.name);
            let id = (Arc::clone(&resource.path), resource.index);
            if let Some(other) = seen.insert(identity, id.clone()) {
                let message = format!("two objects become {title}: kustomize refuses to build it");
                let scope = Scope::Objects(vec![other, id]);
                let told = note(&self.k, at, message, scope);
                self.gathered.notes.insert(told);
            }
        }
    }

    fn names(&mut self) {
        let text = |key: &str| {
            let entry = self.k.entry(key);
            entry
                .and_then(|entry| entry.value.text())
                .unwrap_or_default()
        };
        let (prefix, suffix) = (text("namePrefix"), text("nameSuffix"));
        let at = self.k.root.span();
        for (prefix, suffix) in [(prefix, ""), ("", suffix)] {
            if (prefix, suffix) != ("", "") && self.pay(at) {
                for resource in &mut self.gathered.resources {
                    resource.rename(prefix, suffix);
                }
            }
        }
    }

    fn labels(&mut self) {
        for label in self.k.items("labels") {
            let is_set = |key: &str| label.get(key).and_then(NodeRef::text) == Some("true");
            let mut specs = custom(label);
            if is_set("includeSelectors") {
                specs.extend(fields::all_labels());
            } else {
                specs.extend(fields::own_labels());
                if is_set("includeTemplates") {
                    specs.extend(fields::template_labels());
                }
                if is_set("includeVolumeClaimTemplates") {
                    specs.extend(fields::volume_claim_labels());
                }
            }
            if let Some(pairs) = label.get("pairs") {
                self.entries(pairs, &specs);
            }
        }
        if let Some(entry) = self.k.entry("commonLabels") {
            self.entries(entry.value, &fields::all_labels());
        }
    }

    /// Sets all entries of `pairs` in the fields of `specs`.
    fn entries(&mut self, pairs: NodeRef<'_>, specs: &[FieldSpec]) {
        let Some(pairs) = self.k.copy(pairs) else {
            self.gathered
                .tell(&self.k, pairs.span(), "too many entries: they are left out");
            return;
        };
        for field in pairs.fields() {
            if !self.pay(field.origin.span) {
                return;
            }
            let text = field.value.text().unwrap_or_default();
            let mut value = Node::text_at(text, &field.value.origin);
            share::bind(&mut value);
            for resource in &mut self.gathered.resources {
                let object = resource.change();
                let set = |spec: &FieldSpec| spec.set(object, &field.key, &field.origin, &value);
                if specs.iter().map(set).any(|done| done.is_none()) {
                    let id = (Arc::clone(&resource.path), resource.index);
                    let message = format!(
                        "`{}` cannot be set: the object has no mapping there",
                        field.key
                    );
                    let scope = Scope::Objects(vec![id]);
                    let told = note(&self.k, field.origin.span, message, scope);
                    self.gathered.notes.insert(told);
                }
            }
        }
    }

    fn images(&mut self) {
        let entries = self.k.items("images").chain(self.k.items("imageTags"));
        for entry in entries {
            let Some(copy) = self.k.copy(entry).filter(|_| self.pay(entry.span())) else {
                continue;
            };
            let Some(image) = Image::read(&copy) else {
                continue;
            };
            for resource in &mut self.gathered.resources {
                let is_definition = resource.identity().name.kind == "CustomResourceDefinition";
                if !is_definition && image.occurs_in(&resource.node) {
                    image.apply(resource.change());
                }
            }
        }
    }
}

/// The `fields` of an entry of `labels`.
fn custom(label: NodeRef<'_>) -> Vec<FieldSpec> {
    let fields = label.get("fields").into_iter().flat_map(NodeRef::items);
    let read = |field: NodeRef<'_>| {
        let text = |key: &str| field.get(key).and_then(NodeRef::text).unwrap_or_default();
        FieldSpec {
            group: text("group").to_owned(),
            version: text("version").to_owned(),
            kind: text("kind").to_owned(),
            path: text("path").to_owned(),
            create: text("create") == "true",
        }
    };
    fields
        .map(read)
        .filter(|spec| !spec.path.is_empty())
        .collect()
}
