//! Map from rendered documents to the files of the user.

use std::sync::Arc;

use meshprobe_mesh::kube::Provenance;
use meshprobe_yaml::{Span, Tree};

use crate::kustomize::leaf::Origin;
use crate::kustomize::node::Field;

/// Origins of the nodes of a document, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    /// The files of all origins, usually few.
    files: Vec<Arc<str>>,
    nodes: Vec<CompactOrigin>,
    /// The keys whose values replaced others, in order.
    overrides: Vec<usize>,
}

/// [`Origin`] in less memory: there is one for each rendered node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CompactOrigin {
    file: u32,
    start: u32,
    end: u32,
}

impl Origins {
    /// Adds the origin of the key of an entry.
    pub(crate) fn push_key(&mut self, entry: &Field) {
        if entry.is_override {
            self.overrides.push(self.nodes.len());
        }
        self.push(&entry.origin);
    }

    pub(crate) fn push(&mut self, origin: &Origin) {
        let is_same = |file: &Arc<str>| Arc::ptr_eq(file, &origin.path);
        let file = match self.files.iter().rposition(is_same) {
            Some(file) => file,
            None => {
                self.files.push(Arc::clone(&origin.path));
                self.files.len() - 1
            }
        };
        // Files of 4 GiB are not read.
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.nodes.push(CompactOrigin {
            file: short(file),
            start: short(origin.span.start),
            end: short(origin.span.end),
        });
    }

    fn get(&self, node: usize) -> Option<Origin> {
        let origin = self.nodes.get(node)?;
        Some(Origin {
            path: Arc::clone(self.files.get(origin.file as usize)?),
            span: Span::new(origin.start as usize, origin.end as usize),
        })
    }
}

/// Map from the parts of a rendered document to the files of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginMap {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The document is an unchanged document of this file.
    Same(Arc<str>),
    /// The document has its own text.
    Rendered {
        tree: Arc<Tree>,
        /// One for each node of the tree.
        origins: Origins,
        /// The origin of the whole object.
        whole: Origin,
    },
}

impl OriginMap {
    pub(crate) const fn same(path: Arc<str>) -> Self {
        Self {
            kind: Kind::Same(path),
        }
    }

    /// Returns the map of a document; `None` if `origins` does not have one entry for each node.
    pub(crate) fn rendered(tree: &Arc<Tree>, mut origins: Origins, whole: Origin) -> Option<Self> {
        origins.nodes.shrink_to_fit();
        (origins.nodes.len() == tree.node_count()).then(|| Self {
            kind: Kind::Rendered {
                tree: Arc::clone(tree),
                origins,
                whole,
            },
        })
    }

    /// Returns whether the document is an unchanged document of a file, with the same byte offsets.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        matches!(self.kind, Kind::Same(_))
    }

    /// Returns the file and the bytes from which the text at `span` comes: of the patch or the
    /// kustomization that set it, else of the base.
    ///
    /// If the parts of a span come from several files, the last part decides: for an entry, the value and not
    /// the key.
    #[must_use]
    pub fn source_location(&self, span: Span) -> (Arc<str>, Span) {
        let origin = match &self.kind {
            Kind::Same(path) => return (Arc::clone(path), span),
            Kind::Rendered {
                tree,
                origins,
                whole,
            } => {
                let found = source_location(tree, origins, span);
                found.unwrap_or_else(|| whole.clone())
            }
        };
        (origin.path, origin.span)
    }
}

impl Provenance for OriginMap {
    fn source_location(&self, span: Span) -> (Arc<str>, Span) {
        Self::source_location(self, span)
    }

    fn is_override(&self, key: Span) -> bool {
        let Kind::Rendered { tree, origins, .. } = &self.kind else {
            return false;
        };
        let mut overrides = origins.overrides.iter();
        overrides.any(|node| tree.span(*node) == Some(key))
    }
}

/// Node of a rendered document with its origin.
struct Part {
    span: Span,
    origin: Origin,
}

fn source_location(tree: &Tree, origins: &Origins, span: Span) -> Option<Origin> {
    let part = |node: usize| {
        Some(Part {
            span: tree.span(node)?,
            origin: origins.get(node)?,
        })
    };
    // Nodes are sorted by their start, the longer first.
    let order = |node: usize| {
        let found = tree.span(node).unwrap_or_default();
        let by_start = found.start.cmp(&span.start);
        by_start.then(span.end.cmp(&found.end))
    };
    let exact = first_of(tree.node_count(), |node| order(node).is_ge());
    if exact < tree.node_count() && order(exact).is_eq() {
        return origins.get(exact);
    }
    let start = |node: usize| tree.span(node).map_or(usize::MAX, |found| found.start);
    let next = first_of(tree.node_count(), |node| start(node) > span.start);
    let first = part(next.checked_sub(1)?)?;
    if first.span.contains(span) {
        return Some(within(tree.text(), &first, span));
    }
    // A span from a key to the end of its value: find the largest part with the same end.
    let last = (next..tree.node_count())
        .take_while(|node| start(*node) < span.end)
        .find(|node| tree.span(*node).is_some_and(|found| found.end == span.end));
    match last.and_then(part) {
        Some(last) => Some(joined(&first, &last)),
        None => Some(first.origin),
    }
}

/// Returns the first number below `count` for which `is_behind` holds, else `count`. `is_behind` must hold for all
/// larger numbers, too.
fn first_of(count: usize, is_behind: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if is_behind(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the origin of a part of a scalar: its exact bytes if the file contains the scalar unchanged, else
/// the origin of the whole scalar.
fn within(text: &str, part: &Part, span: Span) -> Origin {
    let mut origin = part.origin.clone();
    let (quote, is_quoted) = match part.span.slice(text).strip_prefix('"') {
        Some(_) => (1, true),
        None => (0, false),
    };
    let inner = part.span.len().saturating_sub(2 * quote);
    // The user's text may be quoted or not. Text of equal length has the same bytes.
    let shift = match origin.span.len() {
        length if length == part.span.len() => Some(0),
        length if is_quoted && length == inner => Some(quote),
        _ => None,
    };
    let offset = span.start - part.span.start;
    if let Some(offset) = shift.and_then(|shift| offset.checked_sub(shift)) {
        let start = origin.span.start + offset;
        let end = (start + span.len()).min(origin.span.end);
        origin.span = Span::new(start, end);
    }
    origin
}

/// Returns the origin of a key with its value: both if the value follows the key in one file, else the value.
fn joined(first: &Part, last: &Part) -> Origin {
    let (from, to) = (&first.origin, &last.origin);
    let mut origin = to.clone();
    if from.path == to.path && from.span.end <= to.span.start {
        origin.span.start = from.span.start;
    }
    origin
}
