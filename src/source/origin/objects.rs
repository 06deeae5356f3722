//! The objects of a file, listed once: a file may have a finding for each of them.

use crate::source::document::{Content, Document};
use crate::source::file::SourceFile;
use crate::source::list;
use crate::yaml::{Kind, NodeRef, Span};

/// How deep lists may be nested.
const LIST_DEPTH: usize = 8;

/// All objects of a file in order, as numbers: of the document, and of the node in its tree.
#[derive(Clone, Debug)]
pub(in crate::source) struct Objects {
    all: Vec<(u32, u32)>,
}

impl Objects {
    /// Lists the objects of a file.
    pub(in crate::source) fn of(file: &SourceFile) -> Self {
        let documents = (0_u32..).zip(&file.documents);
        let all = documents.flat_map(|(number, document)| {
            let objects = objects_of(document).into_iter();
            objects.map(move |object| (number, object.id()))
        });
        Self { all: all.collect() }
    }

    /// Returns how many there are.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of the document that holds an object.
    pub(super) fn document(&self, number: usize) -> Option<usize> {
        let (document, _) = self.all.get(number)?;
        Some(*document as usize)
    }

    /// Returns an object of the file that was listed.
    pub(super) fn get<'f>(&self, file: &'f SourceFile, number: usize) -> Option<NodeRef<'f>> {
        let (document, node) = self.all.get(number)?;
        match &file.documents.get(*document as usize)?.content {
            Content::Tree(tree) => tree.node(*node),
            _ => None,
        }
    }

    /// Returns the object of a document that covers `span`, with its number in the document, and how many
    /// objects the document has.
    pub(super) fn around<'f>(
        &self,
        file: &'f SourceFile,
        document: usize,
        span: Span,
    ) -> (Option<(usize, NodeRef<'f>)>, usize) {
        let start = self
            .all
            .partition_point(|(at, _)| (*at as usize) < document);
        let end = self.all.partition_point(|(at, _)| *at as usize <= document);
        let object = |index: usize| self.get(file, start + index);
        let found = last_around(end - start, object, span);
        (found, end - start)
    }
}

/// Returns the one of `count` nodes in order that covers `span`, with its number.
pub(super) fn last_around<'t>(
    count: usize,
    node: impl Fn(usize) -> Option<NodeRef<'t>>,
    span: Span,
) -> Option<(usize, NodeRef<'t>)> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if node(middle).is_some_and(|node| node.outer_span().start <= span.start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let index = low.checked_sub(1)?;
    let found = node(index).filter(|node| node.outer_span().contains(span));
    Some((index, found?))
}

/// Lists the objects of a document: itself, or the members of a list.
pub(super) fn objects_of(document: &Document) -> Vec<NodeRef<'_>> {
    let mut found = Vec::new();
    if let Content::Tree(tree) = &document.content
        && let Some(root) = tree.root()
    {
        collect(root, LIST_DEPTH, &mut found);
    }
    found
}

fn collect<'t>(node: NodeRef<'t>, depth: usize, found: &mut Vec<NodeRef<'t>>) {
    let kind = node.get("kind").and_then(NodeRef::text).unwrap_or_default();
    match (list::items(node, kind), depth.checked_sub(1)) {
        (Some(items), Some(depth)) => {
            // What an alias leads to is an object where it stands; a chain of them is an attack.
            for item in items.items().filter(|item| item.kind() != Kind::Alias) {
                collect(item, depth, found);
            }
        }
        _ => found.push(node),
    }
}
