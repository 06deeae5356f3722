//! A node of the tree, and navigation from it to other nodes.

use super::storage::{Kind, NONE, Node, Properties, Style, Tree};
use crate::scalar::{Scalar, resolve_plain};
use crate::span::Span;

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
    /// Whether a merge key (`<<`) adds the entry from another mapping.
    pub merged: bool,
}

impl Entry<'_> {
    /// Returns the span from the key to the end of the value; that of the value if the key is not before it in one file.
    #[must_use]
    pub fn span(&self) -> Span {
        let (key, value) = (self.key.outer_span(), self.value.outer_span());
        match &self.key.tree.origins {
            Some(origins) if !origins.are_joined(key, value) => value,
            _ => Span::new(key.start, value.end),
        }
    }
}

impl<'t> NodeRef<'t> {
    /// Returns the tree of the node.
    #[must_use]
    pub const fn tree(self) -> &'t Tree {
        self.tree
    }

    /// Returns the number of the node within its tree.
    #[must_use]
    pub const fn id(self) -> u32 {
        self.id
    }

    /// Returns the kind of the node; an alias is not followed.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.node.kind
    }

    /// Returns the notation of the node.
    #[must_use]
    pub const fn style(self) -> Style {
        self.node.style
    }

    /// Returns the span of the value, without anchor and tag. A block scalar starts at its
    /// header and ends before the line break of its last line; a block collection ends with its
    /// last child; the span of an empty value is after the `:` or `-`.
    #[must_use]
    pub const fn span(self) -> Span {
        self.node.span.span()
    }

    fn properties(self) -> Option<&'t Properties> {
        self.tree.properties.get(self.node.properties as usize)
    }

    /// Returns the span of the value, including its anchor and tag.
    #[must_use]
    pub fn outer_span(self) -> Span {
        let span = self.span();
        Span::new(
            self.properties().map_or(span.start, |of| of.outer_start),
            span.end,
        )
    }

    /// Returns the source text of [`NodeRef::span`]. In a composed document, these are the values of the node, one on each
    /// line.
    #[must_use]
    pub fn source(self) -> &'t str {
        if !self.tree.is_composed() {
            return self.span().slice(&self.tree.text);
        }
        let mut scalars = self.all().map(|node| node.node);
        let mut scalars = scalars.by_ref().filter(|node| node.kind == Kind::Scalar);
        let Some(first) = scalars.next() else {
            return "";
        };
        let last = scalars.last().unwrap_or(first);
        let values = self
            .tree
            .decoded
            .get(first.first as usize..last.last as usize);
        values.unwrap_or_default()
    }

    /// Returns a text that nodes of one kind of document have in common only if they have the same structure and the same
    /// scalars, of the same types.
    #[must_use]
    pub fn content(self) -> String {
        if !self.tree.is_composed() {
            return self.source().to_owned();
        }
        let parts = self.all().map(|node| {
            let text = node.text().unwrap_or_default();
            let members = node.children().len();
            let (kind, style) = (node.kind(), node.style());
            format!("{kind:?}{style:?}{members},{}:{text}", text.len())
        });
        parts.collect()
    }

    /// Iterates over the node and all nodes in it, in the order of the text; aliases are not followed.
    pub fn all(self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        let last = |node: &NodeRef<'t>| {
            let is_alias = node.kind() == Kind::Alias;
            let last = node.children().last().filter(|_| !is_alias)?;
            self.tree.node(*last)
        };
        let end = std::iter::successors(Some(self), last).last();
        let end = end.map_or(self.id, |node| node.id);
        (self.id..=end).filter_map(move |id| self.tree.node(id))
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

    /// Returns the offset of the `-` of a block sequence item, or the offset after the `:` of a
    /// mapping value; `None` if neither is written.
    #[must_use]
    pub const fn indicator(self) -> Option<usize> {
        if self.node.indicator == NONE {
            None
        } else {
            Some(self.node.indicator as usize)
        }
    }

    /// Returns the target of an alias; returns every other node unchanged.
    #[must_use]
    pub fn resolved(self) -> NodeRef<'t> {
        if self.node.kind == Kind::Alias {
            self.tree.node(self.node.first).unwrap_or(self)
        } else {
            self
        }
    }

    /// Returns whether the node, or the target of the alias, is a mapping.
    #[must_use]
    pub fn is_mapping(self) -> bool {
        self.resolved().kind() == Kind::Mapping
    }

    /// Returns whether the node, or the target of the alias, is a sequence.
    #[must_use]
    pub fn is_sequence(self) -> bool {
        self.resolved().kind() == Kind::Sequence
    }

    /// Returns whether the node, or the target of the alias, is null or has no text.
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

    /// Iterates over the items of a sequence; empty for every other kind.
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

    /// Iterates over the entries of a mapping as written; merge keys are not applied.
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

    /// Returns the item at `index` of a sequence.
    #[must_use]
    pub fn item(self, index: usize) -> Option<NodeRef<'t>> {
        if !self.is_sequence() {
            return None;
        }
        let &id = self.children().get(index)?;
        self.tree.node(id)
    }

    /// Returns whether this key is a merge key.
    #[must_use]
    pub fn is_merge_key(self) -> bool {
        self.tree.has_merge_keys
            && self.node.style == Style::Plain
            && self.source() == "<<"
            && matches!(self.tag(), None | Some("!!merge"))
    }

    /// Returns the value of a scalar as text, with quotes, escapes and folding decoded; follows an alias.
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

    /// Returns the name of the explicit tag within the core schema, such as `str` of `!!str`.
    pub(crate) fn core_tag(self) -> Option<&'t str> {
        let tag = self.tag()?;
        let verbatim = || tag.strip_prefix("!<tag:yaml.org,2002:")?.strip_suffix('>');
        tag.strip_prefix("!!").or_else(verbatim)
    }

    /// Returns the typed value of a scalar as `sigs.k8s.io/yaml` reads it; follows an alias. A scalar
    /// whose tag does not name a scalar type is a string.
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
    /// Returns the root node, or `None` for a document without content.
    #[must_use]
    pub fn root(&self) -> Option<NodeRef<'_>> {
        self.node(self.root)
    }

    /// Returns the source text of the node at `span`, or of a part of it in a parsed document.
    #[must_use]
    pub fn source_at(&self, span: Span) -> &str {
        if !self.is_composed() {
            return span.slice(&self.text);
        }
        let found = self.all().find(|node| node.span() == span);
        found.map(NodeRef::source).unwrap_or_default()
    }

    /// Iterates over all nodes in the order of the text.
    pub fn all(&self) -> impl Iterator<Item = NodeRef<'_>> {
        (0..).map_while(|id| self.node(id))
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
