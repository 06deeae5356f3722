//! Objects of a file that a kustomization lists under `resources`.
//!
//! Source: kustomize 5.8.2, `api/resource/factory.go`.

use std::collections::VecDeque;
use std::sync::Arc;

use meshprobe_tree::source::{Content, Fault, SourceFile, TemplateMarker, template_marker};
use meshprobe_yaml::{self as yaml, FieldPath, NodeRef, Span, Tree};

use crate::kustomize::Scope;
use crate::kustomize::accumulator::{Accumulator, note};
use crate::kustomize::copy;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::kustomization::REFUSED;
use crate::kustomize::limit::Limit;
use crate::kustomize::node::Node;
use crate::kustomize::resource::Resource;

/// Adds the objects of a file to those of the kustomization.
pub(crate) fn include_file(
    k: &Kustomization<'_>,
    at: Span,
    file: &SourceFile,
    accumulator: &mut Accumulator,
) {
    if file.fault.is_some() {
        accumulator.note_missing(k, at, unreadable(file, is_broken(file)));
    }
    for document in &file.documents {
        let tree = match &document.content {
            Content::Empty => continue,
            // kustomize skips `{}`.
            Content::Plain(tree) if tree.node_count() == 1 => continue,
            Content::Tree(tree) => Some(tree),
            _ => None,
        };
        let found = tree.and_then(|tree| bodies(tree, &file.path));
        let is_readable = |tree: &Arc<Tree>| !yaml::has_cycle(tree);
        let Some((bodies, is_whole)) = found else {
            if tree.is_some_and(is_readable) {
                // No document of the file is checked unchanged: the overlay may change each of them.
                let documents = file.documents.iter();
                accumulator
                    .used
                    .extend(documents.map(|document| (Arc::clone(&file.path), document.index)));
                return accumulator.leave_out(Limit::Values);
            }
            let is_refused = match &document.content {
                Content::Broken { .. } => true,
                // kustomize requires a kind and a name, but no `apiVersion`.
                Content::Plain(tree) => !tree.root().is_some_and(has_kind_and_name),
                // Flux fills in variables after the build.
                Content::Template => is_substitution(document.segment.slice(&file.text)),
                Content::NotKubernetes => !is_pointer(file),
                // Another tool may render or decrypt it before kustomize reads it.
                _ => false,
            };
            accumulator.note_missing(k, at, unreadable(file, is_refused));
            continue;
        };
        let has_kind = |(body, _): &Member| !body.text_below(&["kind"]).is_empty();
        if !bodies.iter().all(has_kind) {
            // kubectl gives an item the kind of its list: the document is checked unchanged.
            let message = format!(
                "`{}` has an item without a kind: kustomize refuses to build it",
                file.path
            );
            accumulator.note_missing(k, at, message);
            continue;
        }
        for (body, item) in bodies {
            let resource = Resource {
                body,
                path: Arc::clone(&file.path),
                index: document.index,
                item,
                // Of equal keys, kustomize may read another one than the readers of the file.
                is_intact: is_whole && tree.is_some_and(|tree| tree.duplicate_keys().is_empty()),
                previous: Vec::new(),
            };
            if resource.name().name.is_empty() {
                let message = "an object has no name: kustomize refuses to build it".to_owned();
                accumulator.used.insert(resource.document());
                let scope = Scope::Objects(vec![resource.id()]);
                accumulator.notes.insert(note(k, at, message, scope));
            } else {
                accumulator.add(k, at, resource);
            }
        }
    }
}

fn has_kind_and_name(object: NodeRef<'_>) -> bool {
    let text = |node: NodeRef<'_>, key: &str| node.get(key).and_then(NodeRef::text).map(str::len);
    let name = object
        .get("metadata")
        .and_then(|metadata| text(metadata, "name"));
    text(object, "kind") > Some(0) && name > Some(0)
}

/// Returns whether the text is a template of variables such as `${NAME}` only.
fn is_substitution(text: &str) -> bool {
    let is_variable = |marker: TemplateMarker| marker.shown.starts_with("${");
    // The search for the first tag of any engine is slow.
    text.contains("${") && !text.contains("{{") && template_marker(text).is_some_and(is_variable)
}

/// Returns whether a file contains text or a document that no tool can read.
pub(crate) fn is_broken(file: &SourceFile) -> bool {
    // kustomize may be allowed to read what meshprobe is not.
    let is_unreadable = matches!(
        file.fault,
        Some(Fault::NotUtf8 { .. } | Fault::DanglingLink)
    );
    let mut documents = file.documents.iter();
    is_unreadable || documents.any(|document| matches!(document.content, Content::Broken { .. }))
}

/// Returns whether a file contains a list or a scalar, and not a mapping.
pub(crate) fn is_not_mapping(file: &SourceFile) -> bool {
    let is_other = |content: &Content| matches!(content, Content::NotKubernetes);
    let mut documents = file.documents.iter();
    documents.any(|document| is_other(&document.content)) && !is_pointer(file)
}

/// Returns whether a file is a pointer of Git LFS, whose content was not downloaded.
fn is_pointer(file: &SourceFile) -> bool {
    file.text.starts_with("version https://git-lfs.github.com/")
}

/// Returns the message about a file without objects that can be read.
fn unreadable(file: &SourceFile, is_refused: bool) -> String {
    let consequence = match is_refused {
        true => REFUSED,
        false => "its objects are unknown",
    };
    let path = &file.path;
    format!("`{path}` cannot be read as Kubernetes objects: {consequence}")
}

/// Object with the route to it in its document.
type Member = (Node, FieldPath);

/// Returns the objects of a document, and whether the document is a single object; `None` if it is too large.
fn bodies(tree: &Arc<Tree>, path: &Arc<str>) -> Option<(Vec<Member>, bool)> {
    let object = copy::object(tree, path).ok()?;
    let is_whole = !is_list(&object);
    Some((members(object), is_whole))
}

/// Returns whether kustomize expands an object into its items: its kind ends in `List` and it has `items`.
fn is_list(node: &Node) -> bool {
    node.text_below(&["kind"]).ends_with("List") && node.has(&["items"])
}

/// Returns the objects of a list and its nested lists, or the object itself.
fn members(node: Node) -> Vec<Member> {
    let mut pending = VecDeque::from([(node, FieldPath::root())]);
    let mut found = Vec::new();
    while let Some((node, route)) = pending.pop_front() {
        if is_list(&node) {
            let items = node.get("items").map(Node::items).unwrap_or_default();
            let route = route.child("items");
            let items = items.iter().enumerate();
            pending.extend(items.map(|(at, item)| (item.clone(), route.child(at))));
        } else {
            found.push((node, route));
        }
    }
    found
}
