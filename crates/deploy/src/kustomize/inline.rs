//! Parses patches, from files and from the strings of a kustomization, with the origin of each value.

use std::sync::Arc;

use meshprobe_tree::source::{SourceFile, segments};
use meshprobe_yaml::{NodeRef, Span, Style, Tree, parse_embedded};

use crate::kustomize::copy::{EqualKeys, read_with};
use crate::kustomize::json_patch;
use crate::kustomize::kustomization::{Dialect, Kustomization};
use crate::kustomize::node::{Node, Origin};

/// Documents of a patch, or the reason why it cannot be parsed.
pub(crate) type Documents = Result<Vec<Node>, String>;

/// Parses a file with a patch, which may be a JSON patch.
pub(crate) fn any_patch_from_file(file: &SourceFile) -> Documents {
    match json_patch::text_fault(&file.text) {
        Some(fault) => Err(fault.to_owned()),
        None => from_file(file),
    }
}

/// Parses the patch in the text of `scalar`, which may be a JSON patch. Trims the text first if `trim` is set.
pub(crate) fn any_patch_from_scalar(
    scalar: NodeRef<'_>,
    k: &Kustomization<'_>,
    trim: bool,
) -> Documents {
    let text = scalar.text().unwrap_or_default();
    match json_patch::text_fault(if trim { text.trim() } else { text }) {
        Some(fault) if !is_template(text, k) => Err(fault.to_owned()),
        _ => from_scalar(scalar, k, trim),
    }
}

/// Returns whether an ApplicationSet may fill in a part of a text before Argo CD passes it to kustomize.
fn is_template(text: &str, k: &Kustomization<'_>) -> bool {
    k.dialect == Dialect::Argo && text.contains("{{")
}

/// Parses all documents of a file.
pub(crate) fn from_file(file: &SourceFile) -> Documents {
    let place = |span| Origin {
        path: Arc::clone(&file.path),
        span,
    };
    let mut nodes = Vec::new();
    for document in &file.documents {
        let node = match document.tree() {
            Some(tree) => copy(Some(tree), &place)?,
            None => document_of(&file.text, document.segment, &place)?,
        };
        nodes.extend(node);
    }
    Ok(nodes)
}

/// Parses the documents in the text of `scalar`, which is a value of `k`. Trims the text first if `trim` is set, as
/// kustomize does for some fields.
pub(crate) fn from_scalar(scalar: NodeRef<'_>, k: &Kustomization<'_>, trim: bool) -> Documents {
    let scalar = scalar.resolved();
    let whole = scalar.text().unwrap_or_default();
    let text: Arc<str> = if trim { whole.trim() } else { whole }.into();
    let skipped = if trim {
        whole.len() - whole.trim_start().len()
    } else {
        0
    };
    // In a composed document, only whole values have an origin, not their parts.
    let positions = match scalar.tree().is_composed() {
        true => Positions::Somewhere(scalar.span()),
        false => Positions::new(scalar),
    };
    let place =
        |span: Span| k.origin(positions.real(Span::new(span.start + skipped, span.end + skipped)));
    // The documents are split like those of a file.
    let mut nodes = Vec::new();
    for segment in segments(&text) {
        match parse_embedded(&text, segment) {
            // Without quotes, YAML reads `{{ name }}` as a mapping.
            Err(_) if is_template(&text, k) => return Err(TEMPLATE.to_owned()),
            Ok(Some(tree)) if is_template(&text, k) && tree.has_mapping_as_key() => {
                return Err(TEMPLATE.to_owned());
            }
            Err(error) => return Err(error.message),
            Ok(tree) => nodes.extend(copy(tree.as_ref(), &place)?),
        }
    }
    Ok(nodes)
}

/// The reason for a patch that is not YAML before an ApplicationSet fills it in.
const TEMPLATE: &str = "it is a template that the ApplicationSet fills in";

fn document_of(
    text: &Arc<str>,
    segment: Span,
    place: &dyn Fn(Span) -> Origin,
) -> Result<Option<Node>, String> {
    let tree = parse_embedded(text, segment).map_err(|error| error.message)?;
    copy(tree.as_ref(), place)
}

/// Copies a patch. kustomize decodes a JSON patch, which is a list, into JSON, in which the last of equal keys is left.
/// The nodes of a strategic merge patch keep all of them.
fn copy(tree: Option<&Tree>, place: &dyn Fn(Span) -> Origin) -> Result<Option<Node>, String> {
    let equal_keys = |root: NodeRef<'_>| match root.is_sequence() {
        true => EqualKeys::Last,
        false => EqualKeys::All,
    };
    let root = tree.and_then(Tree::root);
    root.map(|root| read_with(root, equal_keys(root), place))
        .transpose()
        .map_err(|_| "it is too large".to_owned())
}

/// Map from offsets in the text of a string to bytes of the file that contains the string.
enum Positions {
    /// The file contains the text unchanged, from this offset on.
    Plain(usize),
    /// A literal block: the offset of each line in the text and in the file.
    Lines(Vec<(usize, usize)>),
    /// The exact position is unknown; the string has these bytes.
    Somewhere(Span),
}

impl Positions {
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
        let (mut in_text, mut in_file) = (0, span.start + rows.next().map_or(0, str::len));
        for line in text.split_inclusive('\n') {
            let row = rows.next().unwrap_or_default();
            let bare = row.trim_end_matches(['\n', '\r']);
            let indent = bare.len().saturating_sub(line.trim_end_matches('\n').len());
            lines.push((in_text, in_file + indent));
            in_text += line.len();
            in_file += row.len();
        }
        Self::Lines(lines)
    }

    fn real(&self, span: Span) -> Span {
        match self {
            Self::Plain(offset) => Span::new(span.start + offset, span.end + offset),
            Self::Lines(lines) => {
                Span::new(file_offset(lines, span.start), file_offset(lines, span.end))
            }
            Self::Somewhere(whole) => *whole,
        }
    }
}

fn file_offset(lines: &[(usize, usize)], offset: usize) -> usize {
    let at = lines.partition_point(|(in_text, _)| *in_text <= offset);
    let line = at.checked_sub(1).and_then(|at| lines.get(at));
    line.map_or(offset, |(in_text, in_file)| in_file + (offset - in_text))
}
