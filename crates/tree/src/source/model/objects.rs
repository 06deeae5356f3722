//! List of the objects of a file, created once because a file may have a finding for each of them.

use meshprobe_yaml::{Kind, NodeRef, Span};

use crate::source::list;
use crate::source::model::document::{Content, Document};

/// Maximum depth of nested lists.
const LIST_DEPTH: usize = 8;

/// Objects of a file in order, as the numbers of the document and of the node in its tree.
#[derive(Clone, Debug)]
pub(in crate::source) struct Objects {
    all: Vec<(u32, u32)>,
}

impl Objects {
    /// Lists the objects of the documents of a file.
    pub(in crate::source) fn of(documents: &[Document]) -> Self {
        let all = (0_u32..)
            .zip(documents)
            .flat_map(|(number, document)| {
                let objects = objects_of(document).into_iter();
                objects.map(move |object| (number, object.id()))
            })
            .collect();
        Self { all }
    }

    /// Returns the number of objects.
    pub(in crate::source) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of the document that contains an object.
    pub(in crate::source) fn document(&self, number: usize) -> Option<usize> {
        let (document, _) = self.all.get(number)?;
        Some(*document as usize)
    }

    /// Returns an object by its number. `documents` must be the documents that were listed.
    pub(in crate::source) fn get<'f>(
        &self,
        documents: &'f [Document],
        number: usize,
    ) -> Option<NodeRef<'f>> {
        let (document, node) = self.all.get(number)?;
        match &documents.get(*document as usize)?.content {
            Content::Tree(tree) => tree.node(*node),
            _ => None,
        }
    }

    /// Returns the object of a document that contains `span`, with its number in the document, and the number of
    /// objects of the document.
    pub(in crate::source) fn around<'f>(
        &self,
        documents: &'f [Document],
        document: usize,
        span: Span,
    ) -> (Option<(usize, NodeRef<'f>)>, usize) {
        let start = self
            .all
            .partition_point(|(at, _)| (*at as usize) < document);
        let end = self.all.partition_point(|(at, _)| *at as usize <= document);
        let object = |index: usize| self.get(documents, start + index);
        let found = last_around(end - start, object, span);
        (found, end - start)
    }
}

/// Returns the node that contains `span`, of `count` nodes in order, with its number.
pub(in crate::source) fn last_around<'t>(
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

/// Lists the objects of a document: itself, or the items of a list.
pub(in crate::source) fn objects_of(document: &Document) -> Vec<NodeRef<'_>> {
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
            // The target of an alias is an object at its own position. A chain of aliases is an attack.
            for item in items.items().filter(|item| item.kind() != Kind::Alias) {
                collect(item, depth, found);
            }
        }
        _ => found.push(node),
    }
}
