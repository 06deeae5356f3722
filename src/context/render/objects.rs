//! The objects of a file that a kustomization names under `resources`.
//!
//! Source: kustomize 5.8.2, `api/resource/factory.go`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::source::{Content, SourceFile};
use crate::yaml::{self, Route, Span, Tree};

use super::Scope;
use super::body::Body;
use super::copy::read;
use super::gather::{Gathered, note};
use super::kustomization::Kustomization;
use super::limit::Limit;
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
            // kustomize skips `{}`.
            Content::Plain(tree) if tree.node_count() == 1 => continue,
            Content::Tree(tree) => Some(tree),
            _ => None,
        };
        let found = tree.and_then(|tree| bodies(tree, &file.path));
        let is_readable = |tree: &Arc<Tree>| !yaml::has_cycle(tree);
        let Some((bodies, is_whole)) = found else {
            if tree.is_some_and(is_readable) {
                // No document of the file is checked as it is written: the overlay may change each of them.
                let all = file.documents.iter();
                gathered
                    .used
                    .extend(all.map(|one| (Arc::clone(&file.path), one.index)));
                return gathered.leave_out(Limit::Values);
            }
            gathered.miss(k, at, format!("`{}` {unreadable}", file.path));
            continue;
        };
        let has_kind = |(body, _): &Member<Body>| !body.head().text_below(&["kind"]).is_empty();
        if !bodies.iter().all(has_kind) {
            // kubectl gives an item the kind of its list: the document is checked as it is written.
            let message = format!(
                "`{}` has an item without a kind: kustomize refuses to build it",
                file.path
            );
            gathered.miss(k, at, message);
            continue;
        }
        for (body, item) in bodies {
            let resource = Resource {
                body,
                path: Arc::clone(&file.path),
                index: document.index,
                item,
                is_intact: is_whole,
                previous: Vec::new(),
            };
            if resource.name().name.is_empty() {
                let message = "an object has no name: kustomize refuses to build it".to_owned();
                gathered.used.insert(resource.document());
                let scope = Scope::Objects(vec![resource.id()]);
                gathered.notes.insert(note(k, at, message, scope));
            } else {
                gathered.add(k, at, resource);
            }
        }
    }
}

/// An object, and the route to it in its document.
type Member<T> = (T, Route);

/// Returns the objects of a document, and whether it is one object; nothing if it is too large.
fn bodies(tree: &Arc<Tree>, path: &Arc<str>) -> Option<(Vec<Member<Body>>, bool)> {
    let is_list = |body: &Body| body.head().text_below(&["kind"]).ends_with("List");
    let body = Body::of_document(tree, path);
    if let Some(body) = body.filter(|body| !(is_list(body) && body.has(&["items"]))) {
        return Some((vec![(body, Route::root())], true));
    }
    let place = |span| Origin {
        path: Arc::clone(path),
        span,
    };
    let copied = read(tree.root()?, &place).ok()?;
    let is_whole = !self::is_list(&copied.node);
    let members = members(copied.node).into_iter();
    let bodies = members.map(|(node, item)| (Body::copied(node, copied.is_reread), item));
    Some((bodies.collect(), is_whole))
}

/// A kind that ends in `List` and has items is taken apart.
fn is_list(node: &Node) -> bool {
    node.text_below(&["kind"]).ends_with("List") && node.get("items").is_some()
}

/// Returns the objects of a list, of lists in lists too, or the object itself.
fn members(node: Node) -> Vec<Member<Node>> {
    let mut waiting = VecDeque::from([(node, Route::root())]);
    let mut found = Vec::new();
    while let Some((node, route)) = waiting.pop_front() {
        if is_list(&node) {
            let items = node.get("items").map(Node::items).unwrap_or_default();
            let route = route.child("items");
            let items = items.iter().enumerate();
            waiting.extend(items.map(|(at, item)| (item.clone(), route.child(at))));
        } else {
            found.push((node, route));
        }
    }
    found
}
