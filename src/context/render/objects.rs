//! The objects of a file that a kustomization names under `resources`.
//!
//! Source: kustomize 5.8.2, `api/resource/factory.go`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::source::{Content, SourceFile};
use crate::yaml::{Span, Tree};

use super::Scope;
use super::body::Body;
use super::copy::read;
use super::gather::{Gathered, note};
use super::kustomization::Kustomization;
use super::node::{Node, Origin};
use super::resource::Resource;

/// Takes in the objects of a file.
pub(super) fn take_in(k: &Kustomization<'_>, at: Span, file: &SourceFile, gathered: &mut Gathered) {
    let unreadable = "cannot be read as Kubernetes objects: kustomize refuses to build it";
    if file.fault.is_some() {
        gathered.miss(k, at, format!("`{}` {unreadable}", file.path));
    }
    for document in &file.documents {
        let tree = match &document.content {
            Content::Empty => continue,
            Content::Tree(tree) => Some(tree),
            _ => None,
        };
        let Some((bodies, is_whole)) = tree.and_then(|tree| bodies(tree, &file.path)) else {
            gathered.miss(k, at, format!("`{}` {unreadable}", file.path));
            continue;
        };
        for body in bodies {
            let resource = Resource {
                body,
                path: Arc::clone(&file.path),
                index: document.index,
                is_intact: is_whole,
                previous: Vec::new(),
            };
            if resource.name().name.is_empty() {
                let id = (Arc::clone(&file.path), document.index);
                let message = "an object has no name: kustomize refuses to build it".to_owned();
                gathered.used.insert(id.clone());
                gathered
                    .notes
                    .insert(note(k, at, message, Scope::Objects(vec![id])));
            } else {
                gathered.add(k, at, resource);
            }
        }
    }
}

/// Returns the objects of a document, and whether it is one object; nothing if it is too large.
fn bodies(tree: &Arc<Tree>, path: &Arc<str>) -> Option<(Vec<Body>, bool)> {
    let is_list = |body: &Body| body.head().text_below(&["kind"]).ends_with("List");
    let body = Body::of_document(tree, path);
    if let Some(body) = body.filter(|body| !(is_list(body) && body.has(&["items"]))) {
        return Some((vec![body], true));
    }
    let place = |span| Origin {
        path: Arc::clone(path),
        span,
    };
    let copied = read(tree.root()?, &place).ok()?;
    let is_whole = !self::is_list(&copied.node);
    let members = members(copied.node).into_iter();
    let bodies = members.map(|node| Body::copied(node, copied.is_reread));
    Some((bodies.collect(), is_whole))
}

/// A kind that ends in `List` and has items is taken apart.
fn is_list(node: &Node) -> bool {
    node.text_below(&["kind"]).ends_with("List") && node.get("items").is_some()
}

/// Returns the objects of a list, of lists in lists too, or the object itself.
fn members(node: Node) -> Vec<Node> {
    let mut waiting = VecDeque::from([node]);
    let mut found = Vec::new();
    while let Some(node) = waiting.pop_front() {
        if is_list(&node) {
            let items = node.get("items").map(Node::items).unwrap_or_default();
            waiting.extend(items.iter().cloned());
        } else {
            found.push(node);
        }
    }
    found
}
