//! Fills the arena of a document node by node, in the order of the text.

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

use super::span::{Extent, Span};
use super::tree::{Kind, NONE, Node, Properties, Style, Tree};

/// What grows while a document is read is kept for the next one if it has room for no more than so many
/// nodes, and as many bytes of decoded text: few documents are larger.
const ROOM: usize = 1 << 16;

/// A collection whose end has not come yet.
struct Open {
    node: u32,
    kind: Kind,
    /// Where its children start among those of all open collections.
    from: usize,
}

/// A tree that grows. Offsets are bytes of the whole file.
pub(super) struct Arena {
    tree: Tree,
    open: Vec<Open>,
    /// The children of all open collections, those of the innermost last.
    children: Vec<u32>,
    /// How many nodes the tree may have.
    max_nodes: usize,
}

/// Everything is counted by the bytes of a file, which are fewer than 4 GiB.
fn short(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

thread_local! {
    /// Room for the next document of the thread.
    static ROOMS: Cell<Room> = const { Cell::new(Room::NONE) };
}

/// What grew for documents that are read.
struct Room {
    nodes: Vec<Node>,
    links: Vec<u32>,
    decoded: String,
    open: Vec<Open>,
    children: Vec<u32>,
}

impl Room {
    const NONE: Self = Self {
        nodes: Vec::new(),
        links: Vec::new(),
        decoded: String::new(),
        open: Vec::new(),
        children: Vec::new(),
    };
}

impl Drop for Arena {
    fn drop(&mut self) {
        let mut room = Room {
            nodes: mem::take(&mut self.tree.nodes),
            links: mem::take(&mut self.tree.links),
            decoded: mem::take(&mut self.tree.decoded),
            open: mem::take(&mut self.open),
            children: mem::take(&mut self.children),
        };
        if room.nodes.capacity() > ROOM || room.decoded.capacity() > ROOM {
            return;
        }
        room.nodes.clear();
        room.links.clear();
        room.decoded.clear();
        room.open.clear();
        room.children.clear();
        // A thread that ends needs none.
        ROOMS.try_with(|kept| kept.set(room)).ok();
    }
}

impl Arena {
    pub(super) fn new(text: &Arc<str>, segment: Span) -> Self {
        let room = ROOMS.try_with(|kept| kept.replace(Room::NONE));
        let room = room.unwrap_or(Room::NONE);
        let tree = Tree {
            text: Arc::clone(text),
            segment,
            nodes: room.nodes,
            links: room.links,
            decoded: room.decoded,
            properties: Vec::new(),
            root: NONE,
            has_merge_keys: false,
        };
        Self {
            tree,
            open: room.open,
            children: room.children,
            max_nodes: usize::MAX,
        }
    }

    /// Limits how many nodes the tree may have; [`Arena::is_full`] returns whether there are more.
    pub(super) const fn limit_nodes(&mut self, max_nodes: usize) {
        self.max_nodes = max_nodes;
    }

    /// Returns whether there are more nodes than allowed.
    pub(super) const fn is_full(&self) -> bool {
        self.tree.nodes.len() > self.max_nodes
    }

    /// Returns the tree as that of a text, all of which it holds.
    pub(super) fn finish_as(mut self, text: &Arc<str>) -> Option<Tree> {
        self.tree.text = Arc::clone(text);
        self.tree.segment = Span::new(0, text.len());
        self.finish()
    }

    /// Turns the nodes of a copy of the document into those of the document in `text`; `place` maps
    /// offsets.
    pub(super) fn relocate(
        &mut self,
        text: &Arc<str>,
        segment: Span,
        place: impl Fn(usize) -> usize,
    ) {
        let moved = |span: Span| Span::new(place(span.start), place(span.end));
        for node in &mut self.tree.nodes {
            node.span = Extent::new(moved(node.span.span()));
            if node.indicator != NONE {
                node.indicator = short(place(node.indicator as usize));
            }
        }
        for properties in &mut self.tree.properties {
            properties.outer = place(properties.outer);
            properties.anchor = properties.anchor.map(moved);
            properties.tag = properties.tag.map(moved);
        }
        self.tree.text = Arc::clone(text);
        self.tree.segment = segment;
    }

    /// Iterates over the style and the span of all nodes, in the order of their starts.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (Style, Span)> {
        let nodes = self.tree.nodes.iter();
        nodes.map(|node| (node.style, node.span.span()))
    }

    /// Returns the tree, in no more memory than it needs, or `None` where nothing is written in the
    /// document.
    pub(super) fn finish(mut self) -> Option<Tree> {
        let root = self.tree.nodes.get(self.tree.root as usize)?;
        // A document of comments alone comes as one empty scalar.
        if root.style == Style::Empty {
            return None;
        }
        let (nodes, links) = if self.tree.nodes.capacity() > ROOM {
            // This room is not kept: shrinking it in place saves a copy.
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
        })
    }

    /// Tells whether the decoded text is too long for its offsets.
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
        let id = short(self.tree.nodes.len());
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
            span: Extent::new(span),
            first: NONE,
            last: NONE,
            parent,
            indicator: indicator.map_or(NONE, short),
            properties: NONE,
        });
        id
    }

    /// Lets what follows be children of `node`.
    pub(super) fn open(&mut self, node: u32, kind: Kind) {
        let from = self.children.len();
        self.open.push(Open { node, kind, from });
    }

    /// Ends the innermost open collection at `end`; one without end of its own ends with its last
    /// child.
    pub(super) fn close(&mut self, end: Option<usize>) {
        let Some(open) = self.open.pop() else { return };
        let first = short(self.tree.links.len());
        let children = self.children.get(open.from..).unwrap_or_default();
        self.tree.links.extend_from_slice(children);
        let last_child = children.last().copied().unwrap_or(NONE);
        self.children.truncate(open.from);
        let last = short(self.tree.links.len());
        let end = end.or_else(|| Some(self.tree.nodes.get(last_child as usize)?.span.span().end));
        self.edit(open.node, |node| {
            node.first = first;
            node.last = last;
            let span = node.span.span();
            let end = end.unwrap_or(span.end).max(span.start);
            node.span = Extent::new(Span::new(span.start, end));
        });
    }

    /// Tells whether there is a node.
    pub(super) const fn has_nodes(&self) -> bool {
        !self.tree.nodes.is_empty()
    }

    /// Returns the number of open collections.
    pub(super) const fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns what the innermost open collection is.
    pub(super) fn innermost(&self) -> Option<Kind> {
        self.open.last().map(|open| open.kind)
    }

    /// Returns how the innermost open collection is written.
    pub(super) fn innermost_style(&self) -> Option<Style> {
        let open = self.open.last()?;
        Some(self.tree.nodes.get(open.node as usize)?.style)
    }

    /// Returns where the last child of the innermost open collection starts, anchor and tag counted.
    pub(super) fn last_child_start(&self) -> Option<usize> {
        let open = self.open.last()?;
        let last = self.children.get(open.from..)?.last()?;
        Some(self.tree.node(*last)?.outer_span().start)
    }

    /// Tells whether the next child of the innermost collection is the value of a key.
    pub(super) fn expects_value(&self) -> bool {
        self.open.last().is_some_and(|open| {
            open.kind == Kind::Mapping && (self.children.len() - open.from) % 2 == 1
        })
    }

    /// Returns the number of the newest node.
    pub(super) fn newest(&self) -> u32 {
        short(self.tree.nodes.len().saturating_sub(1))
    }

    /// Returns the bytes of a node.
    pub(super) fn span(&self, id: u32) -> Option<Span> {
        Some(self.tree.nodes.get(id as usize)?.span.span())
    }

    /// Sets the bytes of a node.
    pub(super) fn set_span(&mut self, id: u32, span: Span) {
        self.edit(id, |node| node.span = Extent::new(span));
    }

    /// Lets an alias lead to its node.
    pub(super) fn set_target(&mut self, id: u32, target: u32) {
        self.edit(id, |node| node.first = target);
    }

    /// Returns the decoded text, which grows by what the next scalar is read as.
    pub(super) const fn decoded(&mut self) -> &mut String {
        &mut self.tree.decoded
    }

    /// Lets the decoded text from `from` on be the value of the scalar `id`.
    pub(super) fn set_decoded(&mut self, id: u32, from: usize) {
        let last = short(self.tree.decoded.len());
        self.note(from);
        self.edit(id, |node| {
            node.first = short(from);
            node.last = last;
        });
    }

    fn note(&mut self, from: usize) {
        self.tree.has_merge_keys |= self.tree.decoded.get(from..) == Some("<<");
    }

    /// Tells that a scalar reads as its source does.
    pub(super) fn note_plain(&mut self, value: &str) {
        self.tree.has_merge_keys |= value == "<<";
    }

    /// Returns where a decoded scalar starts in the decoded text.
    pub(super) fn decoded_start(&self, id: u32) -> Option<usize> {
        let first = self.tree.nodes.get(id as usize)?.first;
        (first != NONE).then_some(first as usize)
    }

    /// Returns the anchor and tag of a node, to be set.
    pub(super) fn properties(&mut self, id: u32) -> Option<&mut Properties> {
        let new = short(self.tree.properties.len());
        let node = self.tree.nodes.get_mut(id as usize)?;
        if node.properties == NONE {
            node.properties = new;
            self.tree.properties.push(Properties {
                outer: node.span.span().start,
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
