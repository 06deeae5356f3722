//! From a place in a rendered document back to the file that the user wrote.

use std::sync::Arc;

use crate::kube::Provenance;
use crate::yaml::Span;

use super::node::Origin;

/// A value or key of a rendered document, and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Part {
    span: Span,
    origin: Origin,
}

impl Part {
    pub(super) fn new(span: Span, origin: &Origin) -> Self {
        Self {
            span,
            origin: origin.clone(),
        }
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
        text: Arc<str>,
        /// Sorted by start, the longer first.
        parts: Vec<Part>,
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

    pub(super) fn rendered(text: &Arc<str>, mut parts: Vec<Part>, whole: Origin) -> Self {
        parts.shrink_to_fit();
        parts.sort_by_key(|part| (part.span.start, std::cmp::Reverse(part.span.end)));
        Self {
            kind: Kind::Rendered {
                text: Arc::clone(text),
                parts,
                whole,
            },
        }
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
            Kind::Rendered { text, parts, whole } => {
                let found = real(text, parts, span);
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

fn real(text: &str, parts: &[Part], span: Span) -> Option<Origin> {
    let exact = parts.binary_search_by(|part| {
        let start = part.span.start.cmp(&span.start);
        start.then(span.end.cmp(&part.span.end))
    });
    if let Some(part) = exact.ok().and_then(|at| parts.get(at)) {
        return Some(part.origin.clone());
    }
    let begun = parts.partition_point(|part| part.span.start <= span.start);
    let first = parts.get(..begun)?.last();
    if let Some(part) = first.filter(|part| part.span.contains(span)) {
        return Some(within(text, part, span));
    }
    // From the key to the end of the value: the part that ends there and is largest.
    let last = parts
        .get(begun..)?
        .iter()
        .take_while(|part| part.span.start < span.end)
        .find(|part| part.span.end == span.end);
    match (first, last) {
        (Some(first), Some(last)) => Some(joined(first, last)),
        (found, other) => found.or(other).map(|part| part.origin.clone()),
    }
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
