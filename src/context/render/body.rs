//! The object of a document, copied as far as somebody looks at it.
//!
//! Most objects of a tree are only named, moved to a namespace and labelled on their way through
//! the kustomizations; to copy what else they hold was most of the work.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::yaml::{NodeRef, Span, Tree};

use super::copy::{self, Copied, read};
use super::images;
use super::node::{Node, Origin};

/// What names and labels an object.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// An object; shared as long as nothing changes it.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// All of it, or [`HEAD`] where there is a rest.
    node: Arc<Node>,
    rest: Option<Rest>,
    /// Of what is copied: something means to kustomize what it does not mean to other tools.
    is_reread: bool,
}

/// What is not copied yet.
#[derive(Clone, Debug)]
struct Rest {
    /// The whole document, which is the object.
    tree: Arc<Tree>,
    path: Arc<str>,
}

impl Rest {
    fn root(&self) -> Option<NodeRef<'_>> {
        self.tree.root()
    }

    fn origin(&self, span: Span) -> Origin {
        Origin {
            path: Arc::clone(&self.path),
            span,
        }
    }
}

impl Body {
    /// Takes an object that is copied already.
    pub(super) fn copied(node: Node, is_reread: bool) -> Self {
        Self {
            node: Arc::new(node),
            rest: None,
            is_reread,
        }
    }

    /// Takes the document of a file; nothing where only a copy shows what it comes to: it has
    /// anchors or merge keys, is no mapping, or is huge.
    pub(super) fn of_document(tree: &Arc<Tree>, path: &Arc<str>) -> Option<Self> {
        let rest = Rest {
            tree: Arc::clone(tree),
            path: Arc::clone(path),
        };
        let root = rest.root().filter(|root| root.is_mapping())?;
        if tree.has_anchors() || tree.has_merge_keys() || tree.node_count() > copy::NODES {
            return None;
        }
        let origin = |span| rest.origin(span);
        let mut head = Node::empty_map(&origin(root.span()));
        for entry in HEAD.into_iter().filter_map(|key| root.entry(key)) {
            let value = read(entry.value, &origin).ok()?.node;
            let key = entry.key.text().unwrap_or_default();
            head.set(key, &origin(entry.key.span()), value);
        }
        Some(Self {
            node: Arc::new(head),
            rest: Some(rest),
            is_reread: false,
        })
    }

    /// Returns what names and labels the object: `apiVersion`, `kind` and `metadata`.
    pub(super) fn head(&self) -> &Node {
        &self.node
    }

    /// Returns the same to be changed.
    pub(super) fn head_mut(&mut self) -> &mut Node {
        Arc::make_mut(&mut self.node)
    }

    /// Returns the whole object.
    pub(super) fn whole(&self) -> Cow<'_, Node> {
        match &self.rest {
            Some(rest) => Cow::Owned(join(&self.node, rest).node),
            None => Cow::Borrowed(&self.node),
        }
    }

    /// Returns the whole object, which is copied from now on.
    pub(super) fn read(&mut self) -> &Node {
        if let Some(rest) = self.rest.take() {
            let joined = join(&self.node, &rest);
            *self = Self::copied(joined.node, joined.is_reread);
        }
        &self.node
    }

    /// Returns the whole object to be changed.
    pub(super) fn whole_mut(&mut self) -> &mut Node {
        self.read();
        Arc::make_mut(&mut self.node)
    }

    /// Takes what has come of the object.
    pub(super) fn replace(&mut self, node: Node) {
        *self = Self::copied(node, self.is_reread);
    }

    /// Tells whether the object has a value at the end of `keys`.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        match self.rest.as_ref().and_then(Rest::root) {
            Some(root) => {
                let found = keys.iter().try_fold(root, |node, key| node.get(key));
                found.is_some()
            }
            None => {
                let found = keys.iter().try_fold(&*self.node, |node, key| node.get(key));
                found.is_some()
            }
        }
    }

    /// Returns the text at the end of `keys`.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        match self.rest.as_ref().and_then(Rest::root) {
            Some(root) => {
                let found = keys.iter().try_fold(root, |node, key| node.get(key));
                found?.text()
            }
            None => {
                let found = keys.iter().try_fold(&*self.node, |node, key| node.get(key));
                found?.text()
            }
        }
    }

    /// Tells whether `words` may stand in a value, or in a key that the document has: surely not where
    /// it says no.
    pub(super) fn may_mention(&self, words: &str) -> bool {
        let rest = self.rest.as_ref();
        rest.is_none_or(|rest| rest.tree.mentions(words))
            || self.node.any_leaf(&|leaf| leaf.text.contains(words))
    }

    /// Returns the images of all containers in the object.
    pub(super) fn images(&self) -> BTreeSet<String> {
        let mut found = images::of_node(&self.node);
        if let Some(root) = self.rest.as_ref().and_then(Rest::root) {
            found.append(&mut images::of_tree(root));
        }
        found
    }

    /// Tells whether something means to kustomize what it does not mean to other tools.
    pub(super) fn is_reread(&self) -> bool {
        let root = self.rest.as_ref().and_then(Rest::root);
        root.map_or(self.is_reread, copy::is_reread)
    }
}

/// The object with what was changed in its head. What is too large to be copied has no rest.
fn join(head: &Node, rest: &Rest) -> Copied {
    let root = rest.root();
    let copied = root.and_then(|root| read(root, &|span| rest.origin(span)).ok());
    let mut whole = copied.unwrap_or_else(|| Copied {
        node: head.clone(),
        is_reread: false,
    });
    for field in head.fields() {
        whole
            .node
            .set(&field.key, &field.origin, field.value.clone());
    }
    whole
}
