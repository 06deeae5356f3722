//! Annotations on their way out, and the mappings that would be empty without them.

use crate::kube::Workload;
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
}

impl<'w, 't> Leaving<'w, 't> {
    pub(super) const fn new(workload: &'w Workload<'t>) -> Self {
        Self {
            workload,
            gone: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The opt-out beside a prober env was written with it. Where the annotation was there before
    /// the rewrite it did not switch it off.
    pub(super) fn opt_out(&mut self) {
        let entry = self.workload.template.annotation(keys::REWRITE_PROBERS);
        let word = entry.and_then(|entry| entry.value.text());
        if word.and_then(parse_bool) == Some(false) {
            self.take(keys::REWRITE_PROBERS, "true");
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
