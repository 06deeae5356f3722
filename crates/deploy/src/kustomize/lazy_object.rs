//! The object of a document, copied on demand.
//!
//! Most kustomizations change only the name, the namespace and the labels of an object. Copying the other
//! fields took most of the time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_tree::source::limits::OBJECT_VALUES;
use meshprobe_yaml::{Entry, NodeRef, Span, Tree};

use crate::kustomize::copy::{self, Copied, read};
use crate::kustomize::image_list;
use crate::kustomize::leaf::Origin;
use crate::kustomize::node::Node;

/// Fields that name and label an object, which are always copied.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Object of a document; shared as long as nothing changes it.
#[derive(Clone, Debug)]
pub(crate) struct LazyObject {
    /// The whole object, or only [`HEAD`] if there is a rest.
    node: Arc<Node>,
    rest: Option<Rest>,
    /// Whether kustomize reads a copied value differently from other tools.
    is_reread: bool,
}

/// Fields that are not copied yet.
#[derive(Clone, Debug)]
struct Rest {
    /// The whole document, whose root is the object.
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

impl LazyObject {
    /// Creates a body from a copied object.
    pub(crate) fn copied(node: Node, is_reread: bool) -> Self {
        Self {
            node: Arc::new(node),
            rest: None,
            is_reread,
        }
    }

    /// Creates a body from the document of a file and copies only [`HEAD`]. Returns `None` if the document
    /// must be copied completely: it has anchors or merge keys, is not a mapping, or is huge.
    pub(crate) fn of_document(tree: &Arc<Tree>, path: &Arc<str>) -> Option<Self> {
        let rest = Rest {
            tree: Arc::clone(tree),
            path: Arc::clone(path),
        };
        let root = rest.root().filter(|root| root.is_mapping())?;
        if tree.has_anchors() || tree.has_merge_keys() || tree.node_count() > OBJECT_VALUES {
            return None;
        }
        let origin = |span| rest.origin(span);
        let mut head = Node::empty_map(&origin(root.span()));
        for entry in HEAD.into_iter().filter_map(|key| root.entry(key)) {
            let mut value = read(entry.value, &origin).ok()?.node;
            let key = entry.key.text().unwrap_or_default();
            if key == "metadata" {
                merge_annotations(entry.value, &mut value, &origin)?;
            }
            head.set(key, &origin(entry.key.span()), value);
        }
        Some(Self {
            node: Arc::new(head),
            rest: Some(rest),
            is_reread: false,
        })
    }

    /// Returns the fields `apiVersion`, `kind` and `metadata`; further fields may be missing.
    pub(crate) fn head(&self) -> &Node {
        &self.node
    }

    /// Returns the fields `apiVersion`, `kind` and `metadata` for modification.
    pub(crate) fn head_mut(&mut self) -> &mut Node {
        Arc::make_mut(&mut self.node)
    }

    /// Returns the whole object.
    pub(crate) fn whole(&self) -> Cow<'_, Node> {
        match &self.rest {
            Some(rest) => Cow::Owned(join(&self.node, rest).node),
            None => Cow::Borrowed(&self.node),
        }
    }

    /// Returns the whole object, and keeps the copy.
    pub(crate) fn read(&mut self) -> &Node {
        if let Some(rest) = self.rest.take() {
            let joined = join(&self.node, &rest);
            *self = Self::copied(joined.node, joined.is_reread);
        }
        &self.node
    }

    /// Returns the whole object for modification.
    pub(crate) fn whole_mut(&mut self) -> &mut Node {
        self.read();
        Arc::make_mut(&mut self.node)
    }

    /// Replaces the object with its changed form.
    pub(crate) fn replace(&mut self, node: Node) {
        *self = Self::copied(node, self.is_reread);
    }

    /// Returns whether the object has a value at the end of `keys`.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
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
    pub(crate) fn text(&self, keys: &[&str]) -> Option<&str> {
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

    /// Returns whether a value or a key of the object may contain `words`. `false` is certain.
    pub(crate) fn may_mention(&self, words: &str) -> bool {
        let rest = self.rest.as_ref();
        rest.is_none_or(|rest| rest.tree.contains_text(words))
            || self.node.any_leaf(&|leaf| leaf.text.contains(words))
    }

    /// Returns the images of all containers in the object.
    pub(crate) fn images(&self) -> BTreeSet<String> {
        let mut found = image_list::of_node(&self.node);
        if let Some(root) = self.rest.as_ref().and_then(Rest::root) {
            found.append(&mut image_list::of_tree(root));
        }
        found
    }

    /// Returns whether kustomize reads a value of the object differently from other tools.
    pub(crate) fn is_reread(&self) -> bool {
        let root = self.rest.as_ref().and_then(Rest::root);
        root.map_or(self.is_reread, copy::is_reread)
    }
}

/// Merges several blocks `annotations` in the metadata of an object; the first block with a key counts. Measured with
/// kustomize 5.8.2, which rejects other equal keys of an object: the reader of kyaml rewrites this field with
/// `SetAnnotations` before it decodes the object.
fn merge_annotations(
    metadata: NodeRef<'_>,
    copied: &mut Node,
    origin: &dyn Fn(Span) -> Origin,
) -> Option<()> {
    let is_block = |entry: &Entry<'_>| entry.key.text() == Some("annotations");
    let blocks: Vec<Entry<'_>> = metadata.entries().filter(is_block).collect();
    let (Some(last), 2..) = (blocks.last(), blocks.len()) else {
        return Some(());
    };
    let place = origin(last.key.span());
    let mut merged = Node::empty_map(&place);
    for block in &blocks {
        for field in read(block.value, origin).ok()?.node.fields() {
            if merged.get(&field.key).is_none() {
                merged.set(&field.key, &field.origin, field.value.clone());
            }
        }
    }
    copied.set("annotations", &place, merged);
    Some(())
}

/// Returns the whole object with the changes of its head. An object that is too large to copy consists only of its
/// head.
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
