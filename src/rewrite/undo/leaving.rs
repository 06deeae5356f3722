//! Annotations on their way out, and the mappings that would be empty without them.

use crate::finding::Certainty;
use crate::kube::Workload;
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::yaml::{Change, Value};

use super::comment::has_comment;

/// What is to become of the annotations of a pod.
pub(super) struct Leaving<'w, 't> {
    workload: &'w Workload<'t>,
    gone: Vec<&'static str>,
    /// What is decided already.
    pub(super) changes: Vec<Change>,
    /// What could not be restored to the letter.
    pub(super) remarks: Vec<String>,
}

impl<'w, 't> Leaving<'w, 't> {
    pub(super) const fn new(workload: &'w Workload<'t>) -> Self {
        Self {
            workload,
            gone: Vec::new(),
            changes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The opt-out beside a prober env was written with it. Where the annotation was there before
    /// the rewrite it did not switch it off. In a mesh that does not rewrite by itself it was there
    /// and asked for it, or the mesh was another one then: either way the pod works with it.
    pub(super) fn opt_out(&mut self, by_default: &Fact<bool>) {
        let entry = self.workload.template.annotation(keys::REWRITE_PROBERS);
        let word = entry.and_then(|entry| entry.value.text());
        if word.and_then(parse_bool) != Some(false) {
            return;
        }
        let key = keys::REWRITE_PROBERS;
        if !by_default.value && by_default.certainty > Certainty::Unknown {
            self.set(key, Value::from("true"));
            self.remarks.push(format!(
                "`{key}` becomes \"true\": the mesh rewrites no probes by default, so the pod had \
                 asked for it, or the mesh has changed since"
            ));
            return;
        }
        self.take(key, "true");
        if by_default.certainty < Certainty::Known {
            self.remarks.push(format!(
                "`{key}` is dropped, which may have been \"true\": write that again if the mesh \
                 rewrites no probes by default"
            ));
        }
    }

    /// Takes an annotation away; one with a comment in its line becomes `else_value`.
    pub(super) fn take(&mut self, key: &'static str, else_value: &str) {
        let entry = self.workload.template.annotation(key);
        if entry.is_some_and(|entry| has_comment(&self.workload.object, &entry)) {
            self.set(key, Value::from(else_value));
        } else if entry.is_some() {
            self.gone.push(key);
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: Value) {
        let route = self.workload.template.annotation_route(key);
        self.changes.push(Change::Set { route, value });
    }

    /// All changes, with those to the mappings around.
    pub(super) fn changes(mut self) -> Vec<Change> {
        let (object, template) = (&self.workload.object, &self.workload.template);
        let metadata = template.node.entry("metadata");
        let annotations = metadata.and_then(|metadata| metadata.value.entry("annotations"));
        let (Some(metadata), Some(annotations)) = (metadata, annotations) else {
            return self.changes;
        };
        if self.gone.is_empty() {
            return self.changes;
        }
        if annotations.value.entries().len() > self.gone.len() {
            let each = self.gone.iter().map(|key| Change::Remove {
                route: template.annotation_route(key),
            });
            self.changes.extend(each);
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
