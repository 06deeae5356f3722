//! The node at a position of a document.

use gen_lsp_types::TextDocumentPositionParams;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::{Entry, NodeRef, Span};

use crate::lsp::analysis::Analysis;

/// A position in a file, with the mappings around it.
#[derive(Debug)]
pub(in crate::lsp) struct Cursor<'t> {
    /// The file.
    pub(in crate::lsp) file: &'t SourceFile,
    /// The object.
    pub(in crate::lsp) object: Option<Object<'t>>,
    /// The entries that contain the position, the innermost first.
    pub(in crate::lsp) entries: Vec<Entry<'t>>,
    offset: usize,
}

impl<'t> Cursor<'t> {
    /// Returns the position of a request; `None` if the file was not analysed as the client shows it there.
    pub(in crate::lsp) fn of(
        analysis: &Analysis<'_, 't>,
        at: &TextDocumentPositionParams,
    ) -> Option<Self> {
        let shown = analysis.shown(&at.text_document.uri)?;
        let offset = shown.offset(at.position)?;
        Some(Self::at(shown.file, offset))
    }

    fn at(file: &'t SourceFile, offset: usize) -> Self {
        let here = Span::empty(offset);
        let mut documents = file.documents.iter();
        // Two documents meet at one offset; the later one starts there.
        let document = documents.rfind(|document| document.segment.contains(here));
        let objects = document.map(Object::all_in).unwrap_or_default();
        let is_here = |object: &Object<'t>| object.node.span().contains(here);
        let mut entries = Vec::new();
        let tree = document.and_then(|document| document.tree());
        let mut node = tree.and_then(|tree| tree.root());
        while let Some(inner) = node {
            node = match entry_at(inner, offset) {
                Some(entry) => {
                    entries.push(entry);
                    is_inside(entry.value, offset).then_some(entry.value)
                }
                None => inner.items().find(|item| is_inside(*item, offset)),
            };
        }
        entries.reverse();
        Self {
            file,
            object: objects.into_iter().find(is_here),
            entries,
            offset,
        }
    }

    /// Returns the innermost entry if the position is on its key, or on its value and that is a scalar.
    pub(in crate::lsp) fn entry(&self) -> Option<Entry<'t>> {
        let entry = *self.entries.first()?;
        let is_on = |node: NodeRef<'_>| node.outer_span().contains(Span::empty(self.offset));
        let is_leaf = !entry.value.is_mapping() && !entry.value.is_sequence();
        (is_on(entry.key) || is_leaf && is_on(entry.value)).then_some(entry)
    }

    /// Returns the text that the position is about: the innermost entry, or the whole object for the `apiVersion`, `kind`,
    /// `metadata` and name of an object that is not a workload.
    pub(in crate::lsp) fn subject(&self) -> Option<Span> {
        let entry = self.entry()?;
        let object = self.object.as_ref();
        let names_object = object.is_some_and(|object| {
            if Workload::from_object(object).is_some() {
                return false;
            }
            let own = |key: &str| object.node.entry(key) == Some(entry);
            let metadata = object.metadata();
            let name = metadata.and_then(|metadata| metadata.entry("name"));
            ["apiVersion", "kind", "metadata"].into_iter().any(own) || name == Some(entry)
        });
        match object.filter(|_| names_object) {
            Some(object) => Some(object.node.span()),
            None => Some(entry.span()),
        }
    }
}

impl Cursor<'_> {
    /// Iterates over the text that the position is about, and, in an object that is not a workload, the texts around it up to
    /// the whole object: one line of a policy alone decides little.
    pub(in crate::lsp) fn subjects(&self) -> impl Iterator<Item = Span> {
        let object = self.object.as_ref();
        let policy = object.filter(|object| Workload::from_object(object).is_none());
        let around = self.entries.iter().map(|entry| entry.span());
        let around = around.filter(move |_| policy.is_some());
        let whole = policy.map(|object| object.node.span());
        self.subject().into_iter().chain(around).chain(whole)
    }
}

/// Returns the entry of a mapping that contains an offset.
fn entry_at(mapping: NodeRef<'_>, offset: usize) -> Option<Entry<'_>> {
    if !mapping.is_mapping() {
        return None;
    }
    let mut entries = mapping.entries();
    entries.find(|entry| entry.span().contains(Span::empty(offset)))
}

/// Returns whether a collection contains an offset. An alias contains only its name.
fn is_inside(node: NodeRef<'_>, offset: usize) -> bool {
    let is_collection = node == node.resolved() && (node.is_mapping() || node.is_sequence());
    is_collection && node.outer_span().contains(Span::empty(offset))
}
