//! Builds the tree of a document node by node, in the order of the text.

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

use hashbrown::HashSet;

use super::span::{CompactSpan, Span};
use super::tree::{Kind, Memo, NONE, Node, Properties, Style, Tree};

/// Largest capacity, in nodes and in bytes of decoded text, of buffers that are kept for the next document. Few
/// documents need more.
const MAX_KEPT_CAPACITY: usize = 1 << 16;

/// A collection whose end has not been reached.
#[derive(Debug)]
struct Open {
    node: u32,
    kind: Kind,
    /// Index of its first child in the children of all open collections.
    from: usize,
}

/// Builder of a tree. Offsets count the bytes of the whole file.
#[derive(Debug)]
pub(super) struct Arena {
    tree: Tree,
    open: Vec<Open>,
    /// The children of all open collections, those of the innermost last.
    children: Vec<u32>,
    /// Limit on the nodes of the tree.
    max_nodes: usize,
}

/// Converts an offset or count. Both are limited by the size of a file, which is below 4 GiB.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

thread_local! {
    /// Buffers for the next document of the thread.
    static BUFFERS: Cell<Buffers> = const { Cell::new(Buffers::EMPTY) };
}

/// Buffers of parsed documents, which the next document reuses.
struct Buffers {
    nodes: Vec<Node>,
    links: Vec<u32>,
    decoded: String,
    open: Vec<Open>,
    children: Vec<u32>,
}

impl Buffers {
    const EMPTY: Self = Self {
        nodes: Vec::new(),
        links: Vec::new(),
        decoded: String::new(),
        open: Vec::new(),
        children: Vec::new(),
    };
}

impl Drop for Arena {
    fn drop(&mut self) {
        let mut buffers = Buffers {
            nodes: mem::take(&mut self.tree.nodes),
            links: mem::take(&mut self.tree.links),
            decoded: mem::take(&mut self.tree.decoded),
            open: mem::take(&mut self.open),
            children: mem::take(&mut self.children),
        };
        if buffers.nodes.capacity() > MAX_KEPT_CAPACITY
            || buffers.decoded.capacity() > MAX_KEPT_CAPACITY
        {
            return;
        }
        buffers.nodes.clear();
        buffers.links.clear();
        buffers.decoded.clear();
        buffers.open.clear();
        buffers.children.clear();
        // The access fails in a thread that ends, which does not need buffers.
        BUFFERS.try_with(|kept| kept.set(buffers)).ok();
    }
}

impl Arena {
    pub(super) fn new(text: &Arc<str>, segment: Span) -> Self {
        let buffers = BUFFERS
            .try_with(|kept| kept.replace(Buffers::EMPTY))
            .unwrap_or(Buffers::EMPTY);
        let tree = Tree {
            text: Arc::clone(text),
            segment,
            nodes: buffers.nodes,
            links: buffers.links,
            decoded: buffers.decoded,
            properties: Vec::new(),
            root: NONE,
            has_merge_keys: false,
            duplicate_keys: Memo::default(),
            origins: None,
        };
        Self {
            tree,
            open: buffers.open,
            children: buffers.children,
            max_nodes: usize::MAX,
        }
    }

    /// Limits the number of nodes; [`Arena::is_full`] returns whether the tree exceeds the limit.
    pub(super) const fn limit_nodes(&mut self, max_nodes: usize) {
        self.max_nodes = max_nodes;
    }

    /// Returns whether there are more nodes than allowed.
    pub(super) const fn is_full(&self) -> bool {
        self.tree.nodes.len() > self.max_nodes
    }

    /// Moves the nodes, whose indicators are numbers of files, to the bytes that follow the first one of their file. The
    /// segment becomes that of all values.
    pub(super) fn compose(&mut self, first_of_file: impl Fn(usize) -> usize) {
        for node in &mut self.tree.nodes {
            let first = first_of_file(node.indicator as usize);
            let span = node.span.span();
            node.span = CompactSpan::new(Span::new(first + span.start, first + span.end));
            node.indicator = NONE;
        }
        self.tree.segment = Span::new(0, self.tree.decoded.len());
    }

    /// Moves the nodes of a copy of the document to the document in `text`; `map` converts the
    /// offsets.
    pub(super) fn relocate(
        &mut self,
        text: &Arc<str>,
        segment: Span,
        map: impl Fn(usize) -> usize,
    ) {
        let moved = |span: Span| Span::new(map(span.start), map(span.end));
        for node in &mut self.tree.nodes {
            node.span = CompactSpan::new(moved(node.span.span()));
            if node.indicator != NONE {
                node.indicator = to_u32(map(node.indicator as usize));
            }
        }
        for properties in &mut self.tree.properties {
            properties.outer_start = map(properties.outer_start);
            properties.anchor = properties.anchor.map(moved);
            properties.tag = properties.tag.map(moved);
        }
        self.tree.text = Arc::clone(text);
        self.tree.segment = segment;
    }

    /// Returns the offsets at which quoted scalars start.
    pub(super) fn quoted_starts(&self) -> HashSet<usize> {
        let nodes = self.tree.nodes.iter();
        nodes
            .filter(|node| matches!(node.style, Style::SingleQuoted | Style::DoubleQuoted))
            .map(|node| node.span.span().start)
            .collect()
    }

    /// Returns the tree, in no more memory than it needs, or `None` if the document has no
    /// content.
    pub(super) fn finish(mut self) -> Option<Tree> {
        let root = self.tree.nodes.get(self.tree.root as usize)?;
        // The parser reports a document of comments as one empty scalar.
        if root.style == Style::Empty {
            return None;
        }
        let (nodes, links) = if self.tree.nodes.capacity() > MAX_KEPT_CAPACITY {
            // These buffers are not kept: shrinking them in place saves a copy.
            let mut nodes = mem::take(&mut self.tree.nodes);
            let mut links = mem::take(&mut self.tree.links);
            nodes.shrink_to_fit();
            links.shrink_to_fit();
            (nodes, links)
        } else {
            let nodes = self.tree.nodes.as_slice().into();
            (nodes, self.tree.links.as_slice().into())
        };
        Some(Tree {
            text: Arc::clone(&self.tree.text),
            segment: self.tree.segment,
            nodes,
            links,
            decoded: self.tree.decoded.as_str().into(),
            properties: mem::take(&mut self.tree.properties),
            root: self.tree.root,
            has_merge_keys: self.tree.has_merge_keys,
            duplicate_keys: Memo::default(),
            origins: None,
        })
    }

    /// Returns whether the decoded text is too long for its offsets.
    pub(super) fn overflows(&self) -> bool {
        u32::try_from(self.tree.decoded.len()).is_err()
    }

    /// Adds a node to the innermost open collection, and returns its number.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        style: Style,
        span: Span,
        indicator: Option<usize>,
    ) -> u32 {
        let id = to_u32(self.tree.nodes.len());
        let parent = match self.open.last() {
            Some(open) => {
                self.children.push(id);
                open.node
            }
            None => {
                self.tree.root = id;
                NONE
            }
        };
        self.tree.nodes.push(Node {
            kind,
            style,
            span: CompactSpan::new(span),
            first: NONE,
            last: NONE,
            parent,
            indicator: indicator.map_or(NONE, to_u32),
            properties: NONE,
        });
        id
    }

    /// Opens the collection `node`: the nodes that follow are its children.
    pub(super) fn open(&mut self, node: u32, kind: Kind) {
        let from = self.children.len();
        self.open.push(Open { node, kind, from });
    }

    /// Returns the end of the innermost open collection, as far as it is known.
    pub(super) fn open_end(&self) -> Option<usize> {
        let open = self.open.last()?;
        Some(self.tree.nodes.get(open.node as usize)?.span.span().end)
    }

    /// Closes the innermost open collection at `end`, or at the end of its last child if `end` is
    /// `None`.
    pub(super) fn close(&mut self, end: Option<usize>) {
        let Some(open) = self.open.pop() else { return };
        let first = to_u32(self.tree.links.len());
        let children = self.children.get(open.from..).unwrap_or_default();
        self.tree.links.extend_from_slice(children);
        let last_child = children.last().copied().unwrap_or(NONE);
        self.children.truncate(open.from);
        let last = to_u32(self.tree.links.len());
        let end = end.or_else(|| Some(self.tree.nodes.get(last_child as usize)?.span.span().end));
        self.edit(open.node, |node| {
            node.first = first;
            node.last = last;
            let span = node.span.span();
            let end = end.unwrap_or(span.end).max(span.start);
            node.span = CompactSpan::new(Span::new(span.start, end));
        });
    }

    /// Returns whether the tree has a node.
    pub(super) const fn has_nodes(&self) -> bool {
        !self.tree.nodes.is_empty()
    }

    /// Returns the number of open collections.
    pub(super) const fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the kind of the innermost open collection.
    pub(super) fn innermost(&self) -> Option<Kind> {
        self.open.last().map(|open| open.kind)
    }

    /// Returns the notation of the innermost open collection.
    pub(super) fn innermost_style(&self) -> Option<Style> {
        let open = self.open.last()?;
        Some(self.tree.nodes.get(open.node as usize)?.style)
    }

    /// Returns the start of the last child of the innermost open collection, including anchor and tag.
    pub(super) fn last_child_start(&self) -> Option<usize> {
        let open = self.open.last()?;
        let last = self.children.get(open.from..)?.last()?;
        Some(self.tree.node(*last)?.outer_span().start)
    }

    /// Returns whether the next child of the innermost collection is the value of a key.
    pub(super) fn expects_value(&self) -> bool {
        self.open.last().is_some_and(|open| {
            open.kind == Kind::Mapping && (self.children.len() - open.from) % 2 == 1
        })
    }

    /// Returns the number of the newest node.
    pub(super) fn newest(&self) -> u32 {
        to_u32(self.tree.nodes.len().saturating_sub(1))
    }

    /// Returns the span of a node.
    pub(super) fn span(&self, id: u32) -> Option<Span> {
        Some(self.tree.nodes.get(id as usize)?.span.span())
    }

    /// Sets the span of a node.
    pub(super) fn set_span(&mut self, id: u32, span: Span) {
        self.edit(id, |node| node.span = CompactSpan::new(span));
    }

    /// Sets the target of an alias.
    pub(super) fn set_target(&mut self, id: u32, target: u32) {
        self.edit(id, |node| node.first = target);
    }

    /// Returns the decoded text, for appending the value of the next scalar.
    pub(super) const fn decoded(&mut self) -> &mut String {
        &mut self.tree.decoded
    }

    /// Makes the decoded text from `from` to its end the value of the scalar `id`.
    pub(super) fn set_decoded(&mut self, id: u32, from: usize) {
        let last = to_u32(self.tree.decoded.len());
        self.record_merge_key(from);
        self.edit(id, |node| {
            node.first = to_u32(from);
            node.last = last;
        });
    }

    fn record_merge_key(&mut self, from: usize) {
        self.tree.has_merge_keys |= self.tree.decoded.get(from..) == Some("<<");
    }

    /// Records a scalar whose value equals its source.
    pub(super) fn record_plain(&mut self, value: &str) {
        self.tree.has_merge_keys |= value == "<<";
    }

    /// Returns where a decoded scalar starts in the decoded text.
    pub(super) fn decoded_start(&self, id: u32) -> Option<usize> {
        let first = self.tree.nodes.get(id as usize)?.first;
        (first != NONE).then_some(first as usize)
    }

    /// Returns the anchor and tag of a node, for setting them.
    pub(super) fn properties(&mut self, id: u32) -> Option<&mut Properties> {
        let new = to_u32(self.tree.properties.len());
        let node = self.tree.nodes.get_mut(id as usize)?;
        if node.properties == NONE {
            node.properties = new;
            self.tree.properties.push(Properties {
                outer_start: node.span.span().start,
                anchor: None,
                tag: None,
            });
        }
        self.tree.properties.get_mut(node.properties as usize)
    }

    fn edit(&mut self, id: u32, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.tree.nodes.get_mut(id as usize) {
            change(node);
        }
    }
}
