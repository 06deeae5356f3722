//! Characters that end a line for libyaml's line, or that it takes for syntax, and that are text
//! in YAML 1.2; and those that end the name of an anchor there.

use crate::yaml::marker::byte_order_mark_end;
use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, NodeRef, Style, Tree};
use crate::yaml::verify;

use super::{Ambiguity, AmbiguityKind};

/// U+0085, U+2028 and U+2029 end a line in YAML 1.1; a byte order mark within a document is text
/// there.
const MARKS: [(char, &str); 4] = [
    ('\u{85}', "U+0085 (next line)"),
    ('\u{2028}', "U+2028 (line separator)"),
    ('\u{2029}', "U+2029 (paragraph separator)"),
    ('\u{feff}', "U+FEFF (byte order mark)"),
];

/// Reports the first such character where the document has two readings because of one.
pub(super) fn find(tree: &Tree) -> Option<Ambiguity> {
    let place = first_mark(tree)?;
    let difference = verify::disagreement(tree)?;
    let quoted = quoted_spans(tree);
    let place = marks(tree.text(), tree.segment())
        .find(|(span, _)| !is_within(&quoted, *span))
        .unwrap_or(place);
    Some(ambiguity(place, &difference))
}

/// Reports the first such character of a text without content that has content because of one.
pub(super) fn find_in_comments(text: &str, segment: Span) -> Option<Ambiguity> {
    let place = marks(text, segment).next()?;
    let difference = verify::hidden_content(segment.slice(text))?;
    Some(ambiguity(place, &difference))
}

/// Reports the first such character of a document that kubectl reads as a mapping with `keys` because of one, while it
/// is something else in YAML 1.2: `tree`, or comments only.
pub(super) fn find_mapping(
    text: &str,
    segment: Span,
    tree: Option<&Tree>,
    keys: &[&str],
) -> Option<Ambiguity> {
    let place = match tree {
        Some(tree) => first_mark(tree),
        None => marks(text, segment).next(),
    }?;
    let difference = verify::hidden_mapping(segment.slice(text), keys)?;
    Some(ambiguity(place, &difference))
}

fn ambiguity((span, name): Place, difference: &str) -> Ambiguity {
    Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        span,
        message: format!("{name} is read differently by kubectl and by YAML 1.2: {difference}"),
        help: "delete the character, or write it as an escape between double quotes",
    }
}

type Place = (Span, &'static str);

fn first_mark(tree: &Tree) -> Option<Place> {
    marks(tree.text(), tree.segment())
        .next()
        .or_else(|| touching_question_mark(tree))
        .or_else(|| strange_anchor(tree))
}

/// Lists the characters in question. Texts of ASCII are passed over at the speed of the memory.
fn marks(text: &str, segment: Span) -> impl Iterator<Item = Place> {
    let source = segment.slice(text);
    let bytes = source.as_bytes();
    let leads = memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes);
    let content = byte_order_mark_end(source);
    leads.filter_map(move |at| {
        let c = source.get(at..)?.chars().next()?;
        let (_, name) = MARKS.iter().find(|(mark, _)| *mark == c)?;
        // In front of a document the mark is what it is meant for.
        let is_first = c == '\u{feff}' && (at == 0 || at + c.len_utf8() == content);
        let start = segment.start + at;
        (!is_first).then_some((Span::new(start, start + c.len_utf8()), *name))
    })
}

/// A `?` that touches what follows in brackets is text in YAML 1.2 and marks a key in libyaml.
fn touching_question_mark(tree: &Tree) -> Option<Place> {
    let segment = tree.segment();
    let bytes = segment.slice(tree.text()).as_bytes();
    let mut all = memchr::memchr_iter(b'?', bytes);
    let found = all.find(|at| {
        let before = bytes.get(..*at).unwrap_or_default().trim_ascii_end();
        matches!(before.last(), Some(b'{' | b'[' | b','))
            && !matches!(bytes.get(at + 1), Some(b' ' | b'\t' | b'\r' | b'\n'))
    })?;
    let start = segment.start + found;
    Some((Span::new(start, start + 1), "a `?` that touches a key"))
}

/// The name of an anchor ends in libyaml at the first character that no word has.
fn strange_anchor(tree: &Tree) -> Option<Place> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let found = tree.anchors().find(|anchor| {
        let name = anchor.slice(tree.text()).as_bytes();
        !name.iter().skip(1).copied().all(is_word)
    })?;
    Some((found, "the name of an anchor"))
}

/// Returns the spans of quoted scalars, in which text is expected, in order.
fn quoted_spans(tree: &Tree) -> Vec<Span> {
    let is_quoted = |node: &NodeRef<'_>| {
        node.kind() == Kind::Scalar
            && matches!(node.style(), Style::SingleQuoted | Style::DoubleQuoted)
    };
    let mut spans: Vec<Span> = tree.all().filter(is_quoted).map(NodeRef::span).collect();
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

/// Tells whether one of the spans, which are in order and do not overlap, contains a place.
fn is_within(spans: &[Span], place: Span) -> bool {
    let behind = spans.partition_point(|span| span.start <= place.start);
    let last = behind.checked_sub(1).and_then(|index| spans.get(index));
    last.is_some_and(|span| span.contains(place))
}
