//! One node of the arena, and how to get from it to others.

use std::cell::Cell;

use hashbrown::HashSet;

use super::super::merge::{MERGE_DEPTH, MERGED_MAPPINGS};
use super::super::route::{Route, Step};
use super::super::scalar::{Scalar, resolve_plain};
use super::super::span::Span;
use super::{Kind, NONE, Node, Properties, Style, Tree};

/// A node of a [`Tree`], cheap to copy.
#[derive(Clone, Copy)]
pub struct NodeRef<'t> {
    pub(super) tree: &'t Tree,
    pub(super) node: &'t Node,
    pub(super) id: u32,
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.id == other.id
    }
}

impl Eq for NodeRef<'_> {}

impl std::fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?}@{}..{}",
            self.node.kind,
            self.span().start,
            self.span().end
        )
    }
}

/// A key with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key.
    pub key: NodeRef<'t>,
    /// The value.
    pub value: NodeRef<'t>,
    /// The entry comes from another mapping, by a merge key (`<<`).
    pub merged: bool,
}

impl Entry<'_> {
    /// Returns the span from the key to the end of the value.
    #[must_use]
    pub fn span(&self) -> Span {
        Span::new(self.key.outer_span().start, self.value.outer_span().end)
    }
}

impl<'t> NodeRef<'t> {
    /// Returns the tree of the node.
    #[must_use]
    pub const fn tree(self) -> &'t Tree {
        self.tree
    }

    /// Returns a number that names the node within its tree.
    #[must_use]
    pub const fn id(self) -> u32 {
        self.id
    }

    /// Returns what the node is; an alias is not followed.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.node.kind
    }

    /// Returns how the node is written.
    #[must_use]
    pub const fn style(self) -> Style {
        self.node.style
    }

    /// Returns the bytes of the value, without anchor and tag. A block scalar starts at its
    /// header and ends before the line break of its last line; a block collection ends with its
    /// last child; an empty value lies behind the `:` or `-`.
    #[must_use]
    pub const fn span(self) -> Span {
        self.node.span.span()
    }

    fn properties(self) -> Option<&'t Properties> {
        self.tree.properties.get(self.node.properties as usize)
    }

    /// Returns the bytes of the value with its anchor and tag.
    #[must_use]
    pub fn outer_span(self) -> Span {
        let span = self.span();
        Span::new(
            self.properties().map_or(span.start, |of| of.outer),
            span.end,
        )
    }

    /// Returns the source text of [`NodeRef::span`].
    #[must_use]
    pub fn source(self) -> &'t str {
        self.span().slice(&self.tree.text)
    }

    /// Returns the span of the explicit tag, if there is one.
    #[must_use]
    pub fn tag_span(self) -> Option<Span> {
        self.properties()?.tag
    }

    /// Returns the explicit tag as written (`!!str`), if there is one.
    #[must_use]
    pub fn tag(self) -> Option<&'t str> {
        self.tag_span().map(|span| span.slice(&self.tree.text))
    }

    /// Returns the span of the anchor (`&name`), if there is one.
    #[must_use]
    pub fn anchor_span(self) -> Option<Span> {
        self.properties()?.anchor
    }

    /// Returns the parent; keys and values have the mapping as parent.
    #[must_use]
    pub fn parent(self) -> Option<NodeRef<'t>> {
        self.tree.node(self.node.parent)
    }

    /// Returns the offset of the `-` of a block sequence item, or the offset behind the `:` of a
    /// mapping value, where one is written.
    #[must_use]
    pub const fn indicator(self) -> Option<usize> {
        if self.node.indicator == NONE {
            None
        } else {
            Some(self.node.indicator as usize)
        }
    }

    /// Follows an alias to its node; every other node is returned as it is.
    #[must_use]
    pub fn resolved(self) -> NodeRef<'t> {
        if self.node.kind == Kind::Alias {
            self.tree.node(self.node.first).unwrap_or(self)
        } else {
            self
        }
    }

    /// Tells whether the node, its alias followed, is a mapping.
    #[must_use]
    pub fn is_mapping(self) -> bool {
        self.resolved().kind() == Kind::Mapping
    }

    /// Tells whether the node, its alias followed, is a sequence.
    #[must_use]
    pub fn is_sequence(self) -> bool {
        self.resolved().kind() == Kind::Sequence
    }

    /// Tells whether the node, its alias followed, is null or not written.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.scalar() == Some(Scalar::Null)
    }

    fn children(self) -> &'t [u32] {
        let node = self.resolved().node;
        match node.kind {
            Kind::Mapping | Kind::Sequence => self
                .tree
                .links
                .get(node.first as usize..node.last as usize)
                .unwrap_or_default(),
            Kind::Scalar | Kind::Alias => &[],
        }
    }

    /// Iterates over the items of a sequence; empty for all else.
    pub fn items(
        self,
    ) -> impl ExactSizeIterator<Item = NodeRef<'t>> + DoubleEndedIterator + use<'t> {
        let children = if self.is_sequence() {
            self.children()
        } else {
            &[]
        };
        let tree = self.tree;
        // Links always point into `nodes`: both are filled together.
        children
            .iter()
            .map(move |&id| tree.node(id).unwrap_or(self))
    }

    /// Iterates over the written entries of a mapping, merge keys as they stand.
    pub fn entries(
        self,
    ) -> impl ExactSizeIterator<Item = Entry<'t>> + DoubleEndedIterator + use<'t> {
        let children = if self.is_mapping() {
            self.children()
        } else {
            &[]
        };
        let tree = self.tree;
        children
            .as_chunks::<2>()
            .0
            .iter()
            .map(move |&[key, value]| Entry {
                key: tree.node(key).unwrap_or(self),
                value: tree.node(value).unwrap_or(self),
                merged: false,
            })
    }

    /// Lists the entries that a mapping has in effect: its own as they stand, without merge keys, then
    /// what the merge keys bring in and it does not write itself.
    #[must_use]
    pub fn effective_entries(self) -> Vec<Entry<'t>> {
        let own = self.entries().filter(|entry| !entry.key.is_merge_key());
        let mut found: Vec<Entry<'t>> = own.collect();
        if self.has_merge_key() {
            let mut seen = found.iter().filter_map(|entry| entry.key.text()).collect();
            let budget = Cell::new(MERGED_MAPPINGS);
            self.bring_in(MERGE_DEPTH, &budget, &mut seen, &mut found);
        }
        found
    }

    /// Tells whether a merge key is written in the mapping: its own entries are then not all it has.
    #[must_use]
    pub fn has_merge_key(self) -> bool {
        self.tree.has_merge_keys && self.entries().any(|entry| entry.key.is_merge_key())
    }

    fn bring_in(
        self,
        depth: usize,
        budget: &Cell<usize>,
        seen: &mut HashSet<&'t str>,
        found: &mut Vec<Entry<'t>>,
    ) {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), budget.get().checked_sub(1)) else {
            return;
        };
        budget.set(left);
        let merges = self.entries().filter(|entry| entry.key.is_merge_key());
        for base in merges.flat_map(|merge| std::iter::once(merge.value).chain(merge.value.items()))
        {
            let own = base.entries().filter(|entry| !entry.key.is_merge_key());
            let new = own.filter(|entry| entry.key.text().is_some_and(|key| seen.insert(key)));
            found.extend(new.map(|entry| Entry {
                merged: true,
                ..entry
            }));
            base.bring_in(depth, budget, seen, found);
        }
    }

    /// Returns the entry of `key`: the last of duplicates, else what a merge key brings in.
    #[must_use]
    pub fn entry(self, key: &str) -> Option<Entry<'t>> {
        self.entry_within(key, MERGE_DEPTH, &Cell::new(MERGED_MAPPINGS))
    }

    fn entry_within(self, key: &str, depth: usize, budget: &Cell<usize>) -> Option<Entry<'t>> {
        if let Some(own) = self.own_entry(key) {
            return Some(own);
        }
        self.merged_within(key, depth.checked_sub(1)?, budget)
    }

    /// Returns the last entry that is written for `key`. Most of what a run asks of a tree is this,
    /// so only the entry that is meant is put together.
    fn own_entry(self, key: &str) -> Option<Entry<'t>> {
        let tree = self.tree;
        let node = self.resolved().node;
        if node.kind != Kind::Mapping {
            return None;
        }
        let links = tree.links.get(node.first as usize..node.last as usize)?;
        let mut pairs = links.as_chunks::<2>().0.iter();
        let &[found, value] = pairs.rfind(|[id, _]| tree.is_key(*id, key))?;
        Some(Entry {
            key: tree.node(found)?,
            value: tree.node(value)?,
            merged: false,
        })
    }

    /// Returns what a merge key brings in for `key`, whether or not the mapping has its own.
    pub(in crate::yaml) fn merged_entry(self, key: &str) -> Option<Entry<'t>> {
        self.merged_within(key, MERGE_DEPTH, &Cell::new(MERGED_MAPPINGS))
    }

    fn merged_within(self, key: &str, depth: usize, budget: &Cell<usize>) -> Option<Entry<'t>> {
        if !self.tree.has_merge_keys {
            return None;
        }
        budget.set(budget.get().checked_sub(1)?);
        let bases = self.entries().filter(|entry| entry.key.is_merge_key());
        bases
            .flat_map(|merge| std::iter::once(merge.value).chain(merge.value.items()))
            .find_map(|base| base.entry_within(key, depth, budget))
            .map(|entry| Entry {
                merged: true,
                ..entry
            })
    }

    /// Returns the value of `key`, aliases and merge keys followed.
    #[must_use]
    pub fn get(self, key: &str) -> Option<NodeRef<'t>> {
        self.entry(key).map(|entry| entry.value)
    }

    /// Returns the item at `index` of a sequence.
    #[must_use]
    pub fn item(self, index: usize) -> Option<NodeRef<'t>> {
        if !self.is_sequence() {
            return None;
        }
        let &id = self.children().get(index)?;
        self.tree.node(id)
    }

    /// Follows a route from this node.
    #[must_use]
    pub fn at(self, route: &Route) -> Option<NodeRef<'t>> {
        route
            .steps()
            .iter()
            .try_fold(self, |node, step| match step {
                Step::Key(key) => node.get(key),
                Step::Index(index) => node.item(*index),
            })
    }

    /// Tells whether this key is a merge key.
    #[must_use]
    pub fn is_merge_key(self) -> bool {
        self.tree.has_merge_keys
            && self.node.style == Style::Plain
            && self.source() == "<<"
            && matches!(self.tag(), None | Some("!!merge"))
    }

    /// Returns the text of a scalar after quoting, escapes and folding, its alias followed.
    #[must_use]
    pub fn text(self) -> Option<&'t str> {
        let node = self.resolved();
        if node.kind() != Kind::Scalar {
            return None;
        }
        if node.node.first == NONE {
            return Some(node.source());
        }
        let decoded = node.node.first as usize..node.node.last as usize;
        self.tree.decoded.get(decoded)
    }

    /// Returns the name of the explicit tag within the core schema: `str` of `!!str`.
    pub(in crate::yaml) fn core_tag(self) -> Option<&'t str> {
        let tag = self.tag()?;
        let verbatim = || tag.strip_prefix("!<tag:yaml.org,2002:")?.strip_suffix('>');
        tag.strip_prefix("!!").or_else(verbatim)
    }

    /// Returns the typed value of a scalar as `sigs.k8s.io/yaml` reads it, its alias followed: a tag
    /// that names no type of a scalar makes it a string.
    #[must_use]
    pub fn scalar(self) -> Option<Scalar<'t>> {
        let text = self.text()?;
        let node = self.resolved();
        let is_plain = match (node.tag(), node.core_tag()) {
            (None, _) => matches!(node.style(), Style::Plain | Style::Empty),
            (_, core) => matches!(core, Some("int" | "float" | "bool" | "null")),
        };
        Some(if is_plain {
            resolve_plain(text)
        } else {
            Scalar::Str(text)
        })
    }

    /// Returns the value if it is a string.
    #[must_use]
    pub fn as_str(self) -> Option<&'t str> {
        match self.scalar()? {
            Scalar::Str(text) => Some(text),
            _ => None,
        }
    }
}

impl Tree {
    /// Tells whether a node reads as this key, and is no merge key.
    fn is_key(&self, id: u32, key: &str) -> bool {
        let Some(node) = self.nodes.get(id as usize) else {
            return false;
        };
        // Most keys read as they are written: their length tells most of them apart.
        if node.kind == Kind::Scalar && node.first == NONE && !self.has_merge_keys {
            let span = node.span.span();
            let written = self.text.as_bytes().get(span.start..span.end);
            return written == Some(key.as_bytes());
        }
        self.node(id)
            .is_some_and(|node| node.text() == Some(key) && !node.is_merge_key())
    }
}
