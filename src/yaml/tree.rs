//! The arena of one document: nodes with their exact places in the source text.

mod node;

use std::sync::Arc;

use super::merge::Duplicates;
use super::span::{Extent, Span};

pub use node::{Entry, NodeRef};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A single value.
    Scalar,
    /// Keys with values.
    Mapping,
    /// A list.
    Sequence,
    /// A reference to an anchored node.
    Alias,
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in `'`.
    SingleQuoted,
    /// A scalar in `"`.
    DoubleQuoted,
    /// A block scalar behind `|`.
    Literal,
    /// A block scalar behind `>`.
    Folded,
    /// A scalar that is not written at all (`key:`).
    Empty,
    /// A collection written by indentation.
    Block,
    /// A collection in brackets.
    Flow,
}

pub(super) const NONE: u32 = u32::MAX;

/// One node; offsets are bytes of the whole file. Most of the memory of a run is nodes, so it is
/// kept at 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) style: Style,
    /// The value itself, without anchor and tag; of a block scalar from its header on.
    pub(super) span: Extent,
    /// Collections: start in `links`. Scalars: start in `decoded`, or `NONE` where the source is
    /// the value. Aliases: the target.
    pub(super) first: u32,
    /// The end of what `first` starts.
    pub(super) last: u32,
    pub(super) parent: u32,
    /// The `-` of a block sequence item, or the end of the `:` of a mapping value.
    pub(super) indicator: u32,
    /// Index in `properties` or `NONE`.
    pub(super) properties: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

/// What a node has beside its value; few have any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Properties {
    /// Where the value starts when anchor and tag count.
    pub(super) outer: usize,
    /// `&name`.
    pub(super) anchor: Option<Span>,
    /// The explicit tag.
    pub(super) tag: Option<Span>,
}

/// One parsed document. Two are equal if all their nodes are, with their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub(super) text: Arc<str>,
    pub(super) segment: Span,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<u32>,
    /// The values of all scalars that are not what the source says, one behind the other.
    pub(super) decoded: String,
    pub(super) properties: Vec<Properties>,
    pub(super) root: u32,
    /// A scalar `<<` is written somewhere.
    pub(super) has_merge_keys: bool,
}

impl Tree {
    /// Returns the text of the whole file.
    #[must_use]
    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the bytes of the file that belong to this document.
    #[must_use]
    pub const fn segment(&self) -> Span {
        self.segment
    }

    /// Returns the root node, or `None` for a document without content.
    #[must_use]
    pub fn root(&self) -> Option<NodeRef<'_>> {
        self.node(self.root)
    }

    /// Tells whether an alias or an anchor occurs.
    #[must_use]
    pub fn has_anchors(&self) -> bool {
        self.anchors().next().is_some()
    }

    /// Iterates over the anchors (`&name`) in the order of the text.
    pub(super) fn anchors(&self) -> impl Iterator<Item = Span> {
        self.properties.iter().filter_map(|of| of.anchor)
    }

    /// Tells whether a node has an explicit tag.
    pub(super) fn has_tags(&self) -> bool {
        self.properties.iter().any(|of| of.tag.is_some())
    }

    /// Returns the spans of keys that occur twice in one mapping: of the first, and of each
    /// later one. Keys count as equal where Kubernetes tooling takes them for the same; merge
    /// keys may repeat.
    #[must_use]
    pub fn duplicate_keys(&self) -> Vec<(Span, Span)> {
        let mut finder = Duplicates::default();
        for mapping in self.all().filter(|node| node.kind() == Kind::Mapping) {
            finder.look_into(mapping);
        }
        let found = finder.found.into_iter();
        found
            .map(|(first, later)| (first.span(), later.span()))
            .collect()
    }

    /// Iterates over all nodes in the order of the text.
    pub(super) fn all(&self) -> impl Iterator<Item = NodeRef<'_>> {
        (0..).map_while(|id| self.node(id))
    }

    /// Tells whether a scalar `<<` is written somewhere.
    #[must_use]
    pub const fn has_merge_keys(&self) -> bool {
        self.has_merge_keys
    }

    /// Tells whether `words` stand in the text of the document or in the value of a scalar. A comment
    /// counts, too.
    #[must_use]
    pub fn mentions(&self, words: &str) -> bool {
        self.segment.slice(&self.text).contains(words) || self.decoded.contains(words)
    }

    /// Returns the bytes of a node by its number: they are counted in the order of the text, each
    /// collection before what it holds.
    #[must_use]
    pub fn span(&self, id: usize) -> Option<Span> {
        self.nodes.get(id).map(|node| node.span.span())
    }

    /// Returns the number of nodes: keys, values, items.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns how much memory the tree takes, in bytes, without the text of its file.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.nodes.len() * size_of::<Node>()
            + self.links.len() * size_of::<u32>()
            + self.properties.len() * size_of::<Properties>()
            + self.decoded.len()
    }

    /// Lets a key read as `name`. Its bytes, and those of a node that it is an alias of, are not changed.
    pub fn rename_key(&mut self, id: u32, name: &str) {
        let first = self.decoded.len();
        let (Ok(from), Ok(to)) = (first.try_into(), (first + name.len()).try_into()) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(id as usize) {
            node.kind = Kind::Scalar;
            (node.first, node.last) = (from, to);
            self.decoded.push_str(name);
        }
    }

    /// Returns the node with this number, if there is one.
    #[must_use]
    pub fn node(&self, id: u32) -> Option<NodeRef<'_>> {
        self.nodes.get(id as usize).map(|node| NodeRef {
            tree: self,
            node,
            id,
        })
    }
}
