//! Composes documents of the accumulated objects, and decides which objects are kept.
//!
//! A composed document has a tree like any other, whose nodes know the files that they come from. So all code for documents of
//! the user also works for rendered ones.

use std::sync::Arc;

use meshprobe_mesh::kube::RenderingId;
use meshprobe_mesh::mesh::detect;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_tree::source::limits::ValueCount;
use meshprobe_tree::source::{Content, Document, SourceSet, is_kustomization};
use meshprobe_yaml::{Composer, Kind, NodeRef, Span, Tree};

use crate::kustomize::accumulator::{Accumulator, note_at};
use crate::kustomize::copy::is_reread;
use crate::kustomize::limit::{self, Limit};
use crate::kustomize::node::{Node, Origin, Value, is_text};
use crate::kustomize::rendering::{Deployed, Note, RenderedDocument, Rendering, Scope};
use crate::kustomize::resource::Resource;

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
            document(&resource.body, base)
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
                let place = Origin {
                    path: Arc::clone(&resource.path),
                    span: base.segment,
                };
                let message = "the object cannot be rendered: its values are nested too deeply";
                let scope = Scope::Objects(vec![resource.id()]);
                notes.insert(Note {
                    adds_unknown: true,
                    ..note_at(place, message.to_owned(), scope)
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

/// Kinds of objects from which releases of charts take values.
const VALUES: [&str; 2] = ["ConfigMap", "Secret"];

/// Kinds of objects that deploy others, and of the sources of Flux that they deploy from.
const DEPLOYING: [&str; 6] = [
    "Application",
    "ApplicationSet",
    "Bucket",
    "GitRepository",
    "Kustomization",
    "OCIRepository",
];

pub(crate) fn is_relevant(resource: &Resource) -> bool {
    if is_list(resource) || is_generated_mesh_config(resource) {
        return true;
    }
    let (group, _) = resource.group_version();
    let kind = resource.name().kind;
    match FactKind::of(group, kind) {
        Some(FactKind::Definition) => {
            let group = resource.body.text_below(&["spec", "group"]);
            detect::defined_mesh(group).is_some()
        }
        Some(_) => true,
        None => DEPLOYING.contains(&kind) || resource.body.has(&["spec", "template"]),
    }
}

/// Returns whether a generator makes an object that may configure a mesh. Others are read as written.
fn is_generated_mesh_config(resource: &Resource) -> bool {
    has_values(resource)
        && is_kustomization(&resource.path)
        && resource.original().name.starts_with("istio")
}

/// Returns whether releases of charts can take values from an object.
pub(crate) fn has_values(resource: &Resource) -> bool {
    VALUES.contains(&resource.name().kind) && resource.group_version().0.is_empty()
}

/// Returns whether an object may deploy others, or contain an object that does.
pub(crate) fn may_deploy(resource: &Resource) -> bool {
    DEPLOYING.contains(&resource.name().kind) || is_list(resource)
}

/// Returns whether kubectl may expand an object that kustomize leaves unchanged, because it has the field `items`.
fn is_list(resource: &Resource) -> bool {
    resource.body.has(&["items"])
}

/// Returns whether an object runs pods.
pub(crate) fn runs_pods(resource: &Resource) -> bool {
    let kind = resource.name().kind;
    matches!(kind, "CronJob" | "Pod" | "PodTemplate")
        || resource.body.has(&["spec", "template"])
        || is_list(resource)
}

/// Returns the document of `object`, or `None` if it is nested too deeply.
pub(crate) fn document(object: &Node, base: &Document) -> Option<Document> {
    let mut out = Composer::default();
    add(object, &mut out);
    Some(Document {
        content: Content::Tree(Arc::new(out.finish()?)),
        patch: false,
        // Ambiguities refer to the text of the file.
        ambiguities: Vec::new(),
        ..base.clone()
    })
}

fn add(node: &Node, out: &mut Composer) {
    if let Some(source) = node.source() {
        return add_source(source, &node.origin.path, out);
    }
    let place = (&node.origin.path, node.origin.span);
    match &node.value {
        Value::Leaf(leaf) => add_scalar(&leaf.text, leaf.is_text, place, out),
        Value::Map(fields) => {
            out.begin(Kind::Mapping, place);
            for field in fields.iter() {
                let of_key = (&field.origin.path, field.origin.span);
                out.key(&field.key, of_key, field.is_override);
                add(&field.value, out);
            }
            out.end();
        }
        Value::Seq(items) => {
            out.begin(Kind::Sequence, place);
            items.iter().for_each(|item| add(item, out));
            out.end();
        }
    }
}

/// Adds a value of a document that no step of the rendering has changed.
fn add_source(node: NodeRef<'_>, path: &Arc<str>, out: &mut Composer) {
    let place = (path, node.span());
    match node.kind() {
        Kind::Mapping => {
            out.begin(Kind::Mapping, place);
            for entry in node.entries() {
                let key = entry.key.text().unwrap_or_default();
                out.key(key, (path, entry.key.span()), false);
                add_source(entry.value, path, out);
            }
            out.end();
        }
        Kind::Sequence => {
            out.begin(Kind::Sequence, place);
            node.items().for_each(|item| add_source(item, path, out));
            out.end();
        }
        Kind::Scalar | Kind::Alias => {
            let text = node.text().unwrap_or_default();
            add_scalar(text, is_text(node), place, out);
        }
    }
}

fn add_scalar(text: &str, is_text: bool, place: (&Arc<str>, Span), out: &mut Composer) {
    match text {
        text if is_text => out.string(text, place),
        "" => out.plain("null", place),
        // The source text of numbers, booleans and nulls keeps their type.
        text => out.plain(text, place),
    }
}
