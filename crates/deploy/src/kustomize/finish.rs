//! Writes the accumulated objects as documents.

use std::sync::Arc;

use meshprobe_mesh::kube::RenderingId;
use meshprobe_tree::source::limits::ValueCount;
use meshprobe_tree::source::{Document, SourceSet, is_kustomization};
use meshprobe_yaml::{NodeRef, Tree};

use super::copy::is_reread;
use super::limit::{self, Limit};
use super::relevance::{may_deploy, runs_pods};
use super::rendering::{Deployed, Note, RenderedDocument, Rendering, Scope, Topic};
use super::resource::Resource;
use super::write;
use crate::kustomize::accumulator::Accumulator;

pub(crate) fn finish(
    sources: &SourceSet,
    count: &ValueCount,
    id: RenderingId,
    deployed: Option<Deployed>,
    accumulator: &Accumulator,
    is_wanted: &impl Fn(&Resource) -> bool,
) -> Rendering {
    let mut documents = Vec::with_capacity(accumulator.resources.len());
    let mut notes = accumulator.notes.clone();
    let (mut held, mut left_out) = (0, accumulator.left_out);
    // A build that kustomize refuses changes nothing in a cluster: facts are as they are written.
    let is_refused = notes.iter().any(|note| note.is_refused);
    let resources = accumulator
        .resources
        .iter()
        .filter(|resource| !resource.is_local() && is_wanted(resource));
    for resource in resources {
        let Some(base) = sources.document(&resource.path, resource.index) else {
            continue;
        };
        let root = base.tree().and_then(Tree::root);
        let is_unchanged = resource.is_intact && !root.is_some_and(is_reread);
        let rendered = if is_unchanged || is_refused && is_fact(resource, base) {
            Some(base.clone())
        } else {
            write::document(&resource.body, base)
        };
        match rendered {
            Some(document) => {
                let size = limit::values_of(&document, runs_pods(resource));
                if !count.add(size) {
                    left_out = left_out.or(Some(Limit::All));
                    break;
                }
                held += size;
                documents.push(RenderedDocument {
                    document: Document {
                        patch: false,
                        ..document
                    },
                    item: resource.item.clone(),
                    may_deploy: may_deploy(resource),
                    runs_pods: runs_pods(resource),
                });
            }
            None => {
                notes.insert(Note {
                    path: Arc::clone(&resource.path),
                    span: base.segment,
                    message: "the object cannot be rendered: its values are nested too deeply"
                        .to_owned(),
                    topic: Topic::Other,
                    adds_unknown: true,
                    absent: None,
                    is_refused: false,
                    scope: Scope::Objects(vec![resource.id()]),
                    changed: Vec::new(),
                    copied: Vec::new(),
                });
            }
        }
    }
    if left_out != accumulator.left_out {
        // The results for a part of an overlay can differ from those for the whole.
        documents = Vec::new();
        count.subtract(std::mem::take(&mut held));
    }
    Rendering {
        id,
        deployed,
        has_unknown_objects: accumulator.has_unknown_objects || left_out.is_some(),
        left_out,
        options: accumulator.options.clone(),
        held,
        documents: documents.into(),
        used: Arc::new(accumulator.used.clone()),
        patches: accumulator.patches.clone(),
        applied: accumulator.applied_patches(),
        notes: notes.into_iter().collect(),
    }
}

/// Returns whether a document contains one object that runs no pods and whose place in a cluster is written: a Namespace,
/// or an object that names its namespace.
fn is_fact(resource: &Resource, document: &Document) -> bool {
    let root = document.tree().and_then(Tree::root);
    let is_placed = root.is_some_and(|root| {
        let namespace = root
            .get("metadata")
            .and_then(|metadata| metadata.get("namespace"));
        namespace.is_some() || root.get("kind").and_then(NodeRef::text) == Some("Namespace")
    });
    is_placed
        && resource.item.steps().is_empty()
        && !runs_pods(resource)
        && !is_kustomization(&resource.path)
}
