//! Removes annotations, and the mappings that would be empty without them.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_yaml::{Change, Value};

use super::comment::has_comment;

/// The pending changes to the annotations of a pod.
pub(super) struct AnnotationRemoval<'w, 't> {
    workload: &'w Workload<'t>,
    removed: Vec<&'static str>,
    /// The changes that are already decided.
    pub(super) changes: Vec<Change>,
    /// The values that are not restored literally.
    pub(super) remarks: Vec<String>,
}

impl<'w, 't> AnnotationRemoval<'w, 't> {
    pub(super) const fn new(workload: &'w Workload<'t>) -> Self {
        Self {
            workload,
            removed: Vec::new(),
            changes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Removes the opt-out that was written with a prober env, or sets the value that it may have had before. An
    /// annotation that existed before the rewrite did not switch the rewrite off. In a mesh that does not rewrite by
    /// default, it existed and switched the rewrite on, or the mesh was different then: the pod works with "true" in
    /// both cases.
    pub(super) fn opt_out(&mut self, by_default: &Fact<bool>) {
        let entry = self.workload.template.annotation(keys::REWRITE_PROBERS);
        let value = entry.and_then(|entry| entry.value.text());
        if value.and_then(parse_bool) != Some(false) {
            return;
        }
        let key = keys::REWRITE_PROBERS;
        if !by_default.value && by_default.certainty > Certainty::Unknown {
            self.set(key, Value::from("true"));
            self.remarks.push(format!(
                "`{key}` becomes \"true\": the mesh does not rewrite probes by default, so the \
                 pod had opted in, or the mesh has changed since"
            ));
            return;
        }
        self.take(key, "true");
        if by_default.certainty < Certainty::Known {
            self.remarks.push(format!(
                "`{key}` is removed; it may have been \"true\": set it again if the mesh does not \
                 rewrite probes by default"
            ));
        }
    }

    /// Removes an annotation, or sets it to `else_value` if its line has a comment.
    pub(super) fn take(&mut self, key: &'static str, else_value: &str) {
        let entry = self.workload.template.annotation(key);
        if entry.is_some_and(|entry| has_comment(&self.workload.object, &entry)) {
            self.set(key, Value::from(else_value));
        } else if entry.is_some() {
            self.removed.push(key);
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: Value) {
        let route = self.workload.template.annotation_route(key);
        self.changes.push(Change::Set { route, value });
    }

    /// Returns all changes, including those to the surrounding mappings.
    pub(super) fn changes(mut self) -> Vec<Change> {
        let (object, template) = (&self.workload.object, &self.workload.template);
        let metadata = template.node.entry("metadata");
        let annotations = metadata.and_then(|metadata| metadata.value.entry("annotations"));
        let (Some(metadata), Some(annotations)) = (metadata, annotations) else {
            return self.changes;
        };
        if self.removed.is_empty() {
            return self.changes;
        }
        if annotations.value.entries().len() > self.removed.len() {
            let removals = self.removed.iter().map(|key| Change::Remove {
                route: template.annotation_route(key),
            });
            self.changes.extend(removals);
            return self.changes;
        }
        let of_metadata = template.route.child("metadata");
        let of_annotations = of_metadata.child("annotations");
        let nothing = Value::Map(Vec::new());
        let change = if has_comment(object, &annotations) {
            Change::Set {
                route: of_annotations,
                value: nothing,
            }
        } else if metadata.value.entries().len() > 1 {
            Change::Remove {
                route: of_annotations,
            }
        } else if has_comment(object, &metadata) {
            Change::Set {
                route: of_metadata,
                value: nothing,
            }
        } else {
            Change::Remove { route: of_metadata }
        };
        self.changes.push(change);
        self.changes
    }
}
