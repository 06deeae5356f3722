//! Characters that are text in YAML 1.2, and that libyaml and the parsers derived from it read as a line break, as
//! syntax, or as the end of the name of an anchor.

use crate::marker::byte_order_mark_end;
use crate::span::Span;
use crate::tree::{Kind, NodeRef, Style, Tree};
use crate::verify::{self, Disagreement};

use super::kind::{Ambiguity, AmbiguityKind};

/// Characters with their names. In YAML 1.1, U+0085, U+2028 and U+2029 end a line, and a byte order mark within a
/// document is text.
const MARKS: [(char, &str); 4] = [
    ('\u{85}', "U+0085 (next line)"),
    ('\u{2028}', "U+2028 (line separator)"),
    ('\u{2029}', "U+2029 (paragraph separator)"),
    ('\u{feff}', "U+FEFF (byte order mark)"),
];

/// Returns the first such character if the document has two readings because of it.
pub(super) fn find(tree: &Tree) -> Option<Ambiguity> {
    let place = first_mark(tree)?;
    let difference = verify::disagreement(tree)?;
    let quoted = quoted_spans(tree);
    let place = marks(tree.text(), tree.segment())
        .find(|(span, _)| !is_within(&quoted, *span))
        .unwrap_or(place);
    Some(ambiguity(place, difference))
}

/// Returns the first such character of a text that has content only because of it.
pub(super) fn find_in_comments(text: &str, segment: Span) -> Option<Ambiguity> {
    let place = marks(text, segment).next()?;
    let difference = verify::hidden_content(segment.slice(text))?;
    Some(ambiguity(place, difference))
}

/// Returns the first such character of a document if kubectl reads a mapping with `keys` because of it. `tree` is the
/// reading of YAML 1.2; `None` for comments only.
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
    Some(ambiguity(place, Disagreement::Differs(difference)))
}

fn ambiguity((span, name): Place, disagreement: Disagreement) -> Ambiguity {
    let (message, help) = match disagreement {
        Disagreement::NotCompared(limit) => (
            format!(
                "{name} may be read differently by kubectl and by YAML 1.2; meshprobe does not compare the readings, \
                 because the document {limit}"
            ),
            "split the document, or write the character as an escape between double quotes",
        ),
        Disagreement::Differs(difference) => (
            format!("{name} is read differently by kubectl and by YAML 1.2: {difference}"),
            "delete the character, or write it as an escape between double quotes",
        ),
    };
    Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        span,
        message,
        help,
    }
}

type Place = (Span, &'static str);

fn first_mark(tree: &Tree) -> Option<Place> {
    marks(tree.text(), tree.segment())
        .next()
        .or_else(|| touching_question_mark(tree))
        .or_else(|| strange_anchor(tree))
}

/// Iterates over the characters of [`MARKS`]. The search for their first bytes makes ASCII texts cheap.
fn marks(text: &str, segment: Span) -> impl Iterator<Item = Place> {
    let source = segment.slice(text);
    let bytes = source.as_bytes();
    let leads = memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes);
    let content = byte_order_mark_end(source);
    leads.filter_map(move |at| {
        let c = source.get(at..)?.chars().next()?;
        let (_, name) = MARKS.iter().find(|(mark, _)| *mark == c)?;
        // A byte order mark at the start of a document is valid.
        let is_first = c == '\u{feff}' && (at == 0 || at + c.len_utf8() == content);
        let start = segment.start + at;
        (!is_first).then_some((Span::new(start, start + c.len_utf8()), *name))
    })
}

/// Returns the first `?` in brackets that touches the text after it. It is text in YAML 1.2, and libyaml reads it as
/// the mark of a key. A `?` within a scalar, such as a regular expression, is text for both.
fn touching_question_mark(tree: &Tree) -> Option<Place> {
    let found = question_marks(tree);
    let mut found = found.peekable();
    found.peek()?;
    let mut scalars: Vec<Span> = tree
        .all()
        .filter(|node| node.kind() == Kind::Scalar)
        .map(NodeRef::span)
        .collect();
    scalars.sort_unstable_by_key(|span| span.start);
    let is_syntax = |mark: &Span| {
        let before = scalars.partition_point(|scalar| scalar.start < mark.start);
        let last = before.checked_sub(1).and_then(|index| scalars.get(index));
        last.is_none_or(|scalar| scalar.end <= mark.start)
    };
    let found = found.find(is_syntax)?;
    Some((found, "a `?` that touches a key"))
}

/// Iterates over each `?` that follows an opening bracket or a comma and touches the text after it.
fn question_marks(tree: &Tree) -> impl Iterator<Item = Span> {
    let segment = tree.segment();
    let bytes = segment.slice(tree.text()).as_bytes();
    let all = memchr::memchr_iter(b'?', bytes).filter(move |at| {
        let before = bytes.get(..*at).unwrap_or_default().trim_ascii_end();
        matches!(before.last(), Some(b'{' | b'[' | b','))
            && !matches!(bytes.get(at + 1), Some(b' ' | b'\t' | b'\r' | b'\n'))
    });
    all.map(move |at| Span::new(segment.start + at, segment.start + at + 1))
}

/// Returns the first anchor with a character in its name that is not a letter, digit, `_` or `-`. libyaml ends the name
/// there.
fn strange_anchor(tree: &Tree) -> Option<Place> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let found = tree.anchors().find(|anchor| {
        let name = anchor.slice(tree.text()).as_bytes();
        !name.iter().skip(1).copied().all(is_word)
    })?;
    Some((found, "the name of an anchor"))
}

/// Returns the spans of quoted scalars, in which such characters are expected, in the order of the text.
fn quoted_spans(tree: &Tree) -> Vec<Span> {
    let is_quoted = |node: &NodeRef<'_>| {
        node.kind() == Kind::Scalar
            && matches!(node.style(), Style::SingleQuoted | Style::DoubleQuoted)
    };
    let mut spans: Vec<Span> = tree.all().filter(is_quoted).map(NodeRef::span).collect();
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

/// Returns whether one of the spans, which are sorted and do not overlap, contains `place`.
fn is_within(spans: &[Span], place: Span) -> bool {
    let next = spans.partition_point(|span| span.start <= place.start);
    let last = next.checked_sub(1).and_then(|index| spans.get(index));
    last.is_some_and(|span| span.contains(place))
}
