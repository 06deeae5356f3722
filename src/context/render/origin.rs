//! From a place in a rendered document back to the file that the user wrote.

use std::sync::Arc;

use crate::kube::Provenance;
use crate::yaml::{Span, Tree};

use super::node::Origin;

/// Where the nodes of a document came from, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    /// The files that occur: few.
    files: Vec<Arc<str>>,
    places: Vec<Place>,
}

/// An [`Origin`] in less memory: there is one for each node of what is rendered.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    start: u32,
    end: u32,
}

impl Origins {
    pub(super) fn push(&mut self, origin: &Origin) {
        let known = |file: &Arc<str>| Arc::ptr_eq(file, &origin.path);
        let file = match self.files.iter().rposition(known) {
            Some(file) => file,
            None => {
                self.files.push(Arc::clone(&origin.path));
                self.files.len() - 1
            }
        };
        // No file that is read has as many bytes.
        let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.places.push(Place {
            file: short(file),
            start: short(origin.span.start),
            end: short(origin.span.end),
        });
    }

    fn get(&self, node: usize) -> Option<Origin> {
        let place = self.places.get(node)?;
        Some(Origin {
            path: Arc::clone(self.files.get(place.file as usize)?),
            span: Span::new(place.start as usize, place.end as usize),
        })
    }
}

/// Tells where the parts of a rendered document stand for the user.
#[derive(Clone, Debug)]
pub struct OriginMap {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The document is one of the user's, as it stands in this file.
    Same(Arc<str>),
    /// The document was written anew.
    Rendered {
        tree: Arc<Tree>,
        /// One for each node of the tree.
        origins: Origins,
        /// The place of the whole object.
        whole: Origin,
    },
}

impl OriginMap {
    pub(super) const fn same(path: Arc<str>) -> Self {
        Self {
            kind: Kind::Same(path),
        }
    }

    /// Returns the map of a document; nothing if `origins` are not those of its nodes.
    pub(super) fn rendered(tree: &Arc<Tree>, mut origins: Origins, whole: Origin) -> Option<Self> {
        origins.places.shrink_to_fit();
        (origins.places.len() == tree.node_count()).then(|| Self {
            kind: Kind::Rendered {
                tree: Arc::clone(tree),
                origins,
                whole,
            },
        })
    }

    /// Tells whether the document is one of the user's, so that its bytes are those of the file.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        matches!(self.kind, Kind::Same(_))
    }

    /// Returns the file and the bytes that the user wrote for `span`: the line of the patch or
    /// the kustomization for what they brought in, else that of the base.
    ///
    /// A span that reaches over parts from several files is taken for its last part: of an entry
    /// the value decides, not the key.
    #[must_use]
    pub fn real(&self, span: Span) -> (Arc<str>, Span) {
        let origin = match &self.kind {
            Kind::Same(path) => return (Arc::clone(path), span),
            Kind::Rendered {
                tree,
                origins,
                whole,
            } => {
                let found = real(tree, origins, span);
                found.unwrap_or_else(|| whole.clone())
            }
        };
        (origin.path, origin.span)
    }
}

impl Provenance for OriginMap {
    fn real(&self, span: Span) -> (Arc<str>, Span) {
        Self::real(self, span)
    }
}

/// A node of a rendered document, and where it came from.
struct Part {
    span: Span,
    origin: Origin,
}

fn real(tree: &Tree, origins: &Origins, span: Span) -> Option<Origin> {
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
    let begun = first_of(tree.node_count(), |node| start(node) > span.start);
    let first = part(begun.checked_sub(1)?)?;
    if first.span.contains(span) {
        return Some(within(tree.text(), &first, span));
    }
    // From the key to the end of the value: the part that ends there and is largest.
    let last = (begun..tree.node_count())
        .take_while(|node| start(*node) < span.end)
        .find(|node| tree.span(*node).is_some_and(|found| found.end == span.end));
    match last.and_then(part) {
        Some(last) => Some(joined(&first, &last)),
        None => Some(first.origin),
    }
}

/// Returns the first of `count` numbers from which on `is_behind` holds.
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

/// A part of a value: its own bytes where they stand in the file as they are.
fn within(text: &str, part: &Part, span: Span) -> Origin {
    let mut origin = part.origin.clone();
    let (quote, is_quoted) = match part.span.slice(text).strip_prefix('"') {
        Some(_) => (1, true),
        None => (0, false),
    };
    let inner = part.span.len().saturating_sub(2 * quote);
    // The user's text may be quoted or not; what is as long as ours holds the same bytes.
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

/// A key with its value: both, where they stand side by side in one file.
fn joined(first: &Part, last: &Part) -> Origin {
    let (from, to) = (&first.origin, &last.origin);
    let mut origin = to.clone();
    if from.path == to.path && from.span.end <= to.span.start {
        origin.span.start = from.span.start;
    }
    origin
}
