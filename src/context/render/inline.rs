//! Reads patches, from files and from the strings of a kustomization, with their places.

use std::sync::Arc;

use crate::source::{SourceFile, segments};
use crate::yaml::{NodeRef, Span, Style, Tree, parse_embedded};

use super::copy::read;
use super::kustomization::Kustomization;
use super::node::{Node, Origin};

/// The documents of a patch, each with its place; the error says what is wrong.
pub(super) type Documents = Result<Vec<Node>, String>;

/// Reads all documents of a file.
pub(super) fn from_file(file: &SourceFile) -> Documents {
    let place = |span| Origin {
        path: Arc::clone(&file.path),
        span,
    };
    let mut nodes = Vec::new();
    for document in &file.documents {
        if let Some(found) = document.hidden_syntax().next() {
            return Err(found.message.clone());
        }
        let node = match document.tree() {
            Some(tree) => copy(Some(tree), &place)?,
            None => document_of(&file.text, document.segment, &place)?,
        };
        nodes.extend(node);
    }
    Ok(nodes)
}

/// Reads the documents in the text of `scalar`, which stands in `k`; white space around it is
/// left out where kustomize does so.
pub(super) fn from_scalar(scalar: NodeRef<'_>, k: &Kustomization<'_>, trim: bool) -> Documents {
    let scalar = scalar.resolved();
    let whole = scalar.text().unwrap_or_default();
    let text: Arc<str> = if trim { whole.trim() } else { whole }.into();
    let skipped = if trim {
        whole.len() - whole.trim_start().len()
    } else {
        0
    };
    // Of a text that was rendered itself no part has a place of its own.
    let inside = match k.provenance {
        Some(_) => Inside::Somewhere(scalar.span()),
        None => Inside::new(scalar),
    };
    let place =
        |span: Span| k.origin(inside.real(Span::new(span.start + skipped, span.end + skipped)));
    // The documents of a stream are split as those of a file are.
    let mut nodes = Vec::new();
    for segment in segments(&text) {
        nodes.extend(document_of(&text, segment, &place)?);
    }
    Ok(nodes)
}

fn document_of(
    text: &Arc<str>,
    segment: Span,
    place: &dyn Fn(Span) -> Origin,
) -> Result<Option<Node>, String> {
    let tree = parse_embedded(text, segment).map_err(|error| error.message)?;
    copy(tree.as_ref(), place)
}

fn copy(tree: Option<&Tree>, place: &dyn Fn(Span) -> Origin) -> Result<Option<Node>, String> {
    let root = tree.and_then(Tree::root);
    let node = root.map(|root| read(root, place)).transpose();
    let node = node.map_err(|_| "it is too large".to_owned())?;
    Ok(node.map(|copied| copied.node))
}

/// Finds places of a string's text in the file that holds the string.
enum Inside {
    /// The text stands in the file as it is, from this offset on.
    Plain(usize),
    /// A literal block: where each line of the text starts, in the text and in the file.
    Lines(Vec<(usize, usize)>),
    /// Anywhere in these bytes.
    Somewhere(Span),
}

impl Inside {
    fn new(scalar: NodeRef<'_>) -> Self {
        let (source, span) = (scalar.source(), scalar.span());
        let text = scalar.text().unwrap_or_default();
        match scalar.style() {
            Style::Literal => Self::literal(source, span, text),
            _ => match source.find(text) {
                Some(at) => Self::Plain(span.start + at),
                None => Self::Somewhere(span),
            },
        }
    }

    fn literal(source: &str, span: Span, text: &str) -> Self {
        let mut lines = Vec::new();
        let mut rows = source.split_inclusive('\n');
        let (mut here, mut there) = (0, span.start + rows.next().map_or(0, str::len));
        for line in text.split_inclusive('\n') {
            let row = rows.next().unwrap_or_default();
            let bare = row.trim_end_matches(['\n', '\r']);
            let indent = bare.len().saturating_sub(line.trim_end_matches('\n').len());
            lines.push((here, there + indent));
            here += line.len();
            there += row.len();
        }
        Self::Lines(lines)
    }

    fn real(&self, span: Span) -> Span {
        match self {
            Self::Plain(offset) => Span::new(span.start + offset, span.end + offset),
            Self::Lines(lines) => Span::new(moved(lines, span.start), moved(lines, span.end)),
            Self::Somewhere(whole) => *whole,
        }
    }
}

fn moved(lines: &[(usize, usize)], offset: usize) -> usize {
    let at = lines.partition_point(|(here, _)| *here <= offset);
    let line = at.checked_sub(1).and_then(|at| lines.get(at));
    line.map_or(offset, |(here, there)| there + (offset - here))
}
