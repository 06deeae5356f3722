//! The objects of a file that a kustomization names under `resources`.
//!
//! Source: kustomize 5.8.2, `api/resource/factory.go`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::source::{Content, SourceFile};
use crate::yaml::Span;

use super::Scope;
use super::copy::read;
use super::gather::{Gathered, note};
use super::kustomization::Kustomization;
use super::node::{Node, Origin};
use super::resource::{Resource, identity};

/// Takes in the objects of a file.
pub(super) fn take_in(k: &Kustomization<'_>, at: Span, file: &SourceFile, gathered: &mut Gathered) {
    let unreadable = "cannot be read as Kubernetes objects: kustomize refuses to build it";
    if file.fault.is_some() {
        gathered.miss(k, at, format!("`{}` {unreadable}", file.path));
    }
    for document in &file.documents {
        let place = |span| Origin {
            path: Arc::clone(&file.path),
            span,
        };
        let root = match &document.content {
            Content::Empty => continue,
            Content::Tree(tree) => tree.root(),
            _ => None,
        };
        let copied = root.and_then(|root| read(root, &place).ok());
        let Some(copied) = copied else {
            gathered.miss(k, at, format!("`{}` {unreadable}", file.path));
            continue;
        };
        let is_whole = !copied.is_reread && !is_list(&copied.node);
        for node in members(copied.node) {
            let resource = Resource {
                node: Arc::new(node),
                path: Arc::clone(&file.path),
                index: document.index,
                is_intact: is_whole,
                previous: Vec::new(),
            };
            if identity(&resource.node).name.name.is_empty() {
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
