//! The memory layout of a tree, and the kinds and notations of its nodes.

use std::sync::{Arc, OnceLock};

use crate::span::{CompactSpan, Span};

/// Limit on the length of a chain of merge keys.
pub(crate) const MERGE_DEPTH: usize = 16;

/// Limit on the mappings that are searched for one key; a document that needs more is an attack.
pub(crate) const MERGED_MAPPINGS: usize = 10_000;

/// The number of no node.
pub(crate) const NONE: u32 = u32::MAX;

/// Kind of a node.
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

/// Notation of a node in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in `'`.
    SingleQuoted,
    /// A scalar in `"`.
    DoubleQuoted,
    /// A block scalar after `|`.
    Literal,
    /// A block scalar after `>`.
    Folded,
    /// A scalar without text (`key:`).
    Empty,
    /// A collection written by indentation.
    Block,
    /// A collection in brackets.
    Flow,
}

/// A node; offsets count the bytes of the whole file. Nodes take most of the memory of a run, so their size is
/// limited to 32 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) style: Style,
    /// The value without anchor and tag. The span of a block scalar starts at its header.
    pub(crate) span: CompactSpan,
    /// Collections: start in `links`. Scalars: start in `decoded`, or `NONE` if the source is
    /// the value. Aliases: the target.
    pub(crate) first: u32,
    /// The end of the range that starts at `first`.
    pub(crate) last: u32,
    pub(crate) parent: u32,
    /// The `-` of a block sequence item, or the end of the `:` of a mapping value.
    pub(crate) indicator: u32,
    /// Index in `properties` or `NONE`.
    pub(crate) properties: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

/// Anchor and tag of a node. Few nodes have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    /// Start of the value, including anchor and tag.
    pub(crate) outer_start: usize,
    /// `&name`.
    pub(crate) anchor: Option<Span>,
    /// The explicit tag.
    pub(crate) tag: Option<Span>,
}

/// The files of a composed tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origins {
    /// The files, each with the number of its first byte.
    pub(crate) files: Box<[(usize, Arc<str>)]>,
    /// The keys whose values replaced others, in order.
    pub(crate) overrides: Box<[u32]>,
}

impl Origins {
    pub(crate) fn file(&self, offset: usize) -> usize {
        let next = self.files.partition_point(|(start, _)| *start <= offset);
        next.saturating_sub(1)
    }

    /// Returns whether a key is before its value in one file.
    pub(crate) fn are_joined(&self, key: Span, value: Span) -> bool {
        key.end <= value.start && self.file(key.start) == self.file(value.start)
    }
}

/// A document: parsed, or composed of nodes of several files. Two documents are equal if all their nodes and positions are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub(crate) text: Arc<str>,
    pub(crate) segment: Span,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<u32>,
    /// The values of all scalars that differ from their source, concatenated.
    pub(crate) decoded: String,
    pub(crate) properties: Vec<Properties>,
    pub(crate) root: u32,
    /// Whether the document contains a scalar `<<`.
    pub(crate) has_merge_keys: bool,
    /// The keys that occur more than once.
    pub(crate) duplicate_keys: Memo<Box<[(Span, Span)]>>,
    /// The files of a composed document, whose segment counts the bytes of its values.
    pub(crate) origins: Option<Box<Origins>>,
}

impl Tree {
    /// Returns the text of the whole file; empty for a composed document.
    #[must_use]
    pub const fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the bytes of the file that belong to this document.
    #[must_use]
    pub const fn segment(&self) -> Span {
        self.segment
    }

    /// Returns whether the document contains an anchor.
    #[must_use]
    pub fn has_anchors(&self) -> bool {
        self.anchors().next().is_some()
    }

    /// Iterates over the spans of the anchors (`&name`) in the order of the text.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = Span> {
        self.properties.iter().filter_map(|of| of.anchor)
    }

    /// Returns whether a node has an explicit tag.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        self.properties.iter().any(|of| of.tag.is_some())
    }

    /// Returns whether a key is a mapping, as in `{{name}}` without quotes.
    #[must_use]
    pub fn has_mapping_as_key(&self) -> bool {
        self.all()
            .any(|node| node.entries().any(|entry| entry.key.is_mapping()))
    }

    /// Returns whether the document contains a scalar `<<`.
    #[must_use]
    pub const fn has_merge_keys(&self) -> bool {
        self.has_merge_keys
    }

    /// Returns whether the text of the document, including comments, or the value of a scalar contains `words`.
    #[must_use]
    pub fn contains_text(&self, words: &str) -> bool {
        self.segment.slice(&self.text).contains(words) || self.decoded.contains(words)
    }

    /// Returns the span of the node with this number. Nodes are numbered in the order of the text, a
    /// collection before its members.
    #[must_use]
    pub fn span(&self, id: usize) -> Option<Span> {
        self.nodes.get(id).map(|node| node.span.span())
    }

    /// Returns the number of nodes: keys, values and items.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.nodes.len()
    }
}

/// A result that follows from the other fields of a value, and that is computed when it is first needed. It does not count
/// in comparisons, and copies do not have it, because they may be changed.
#[derive(Debug)]
pub(crate) struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    /// Returns the result. Computes it if it is not known.
    pub(crate) fn get_or_compute(&self, compute: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(compute)
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Clone for Memo<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for Memo<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Memo<T> {}
