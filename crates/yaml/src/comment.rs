//! Comments, and the markers of documents.

use crate::span::Span;
use crate::tree::{Kind, Style, Tree};

/// Returns the spans of the comments of a document, from `#` to the end of the line, in the order of the text.
#[must_use]
pub fn comments(tree: &Tree) -> Vec<Span> {
    let text = tree.text();
    let segment = tree.segment();
    let taken = scalars(tree);
    let mut found = Vec::new();
    let mut at = segment.start;
    while let Some(start) = next_hash(text, at, segment.end) {
        let before = taken.partition_point(|scalar| scalar.start <= start);
        let scalar = before.checked_sub(1).and_then(|index| taken.get(index));
        if let Some(scalar) = scalar.filter(|scalar| start < scalar.end) {
            at = scalar.end;
        } else if follows_space(text, start) {
            let end = line_end(text, start, segment.end);
            found.push(Span::new(start, end));
            at = end;
        } else {
            at = start + 1;
        }
    }
    found
}

/// Returns the spans of all scalars, sorted. The header lines of block scalars are left out, because they may
/// contain a comment.
fn scalars(tree: &Tree) -> Vec<Span> {
    let text = tree.text();
    let nodes = (0..tree.node_count()).filter_map(|id| tree.node(u32::try_from(id).ok()?));
    let mut spans: Vec<Span> = nodes
        .filter(|node| node.kind() == Kind::Scalar && !node.span().is_empty())
        .map(|node| match node.style() {
            Style::Literal | Style::Folded => {
                let span = node.span();
                Span::new(line_end(text, span.start, span.end), span.end)
            }
            _ => node.span(),
        })
        .collect();
    spans.sort();
    spans
}

fn next_hash(text: &str, from: usize, end: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..end)?;
    memchr::memchr(b'#', rest).map(|at| from + at)
}

fn follows_space(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || c == '\u{feff}')
}

/// Returns the end of the line that contains `from`, before its line break.
fn line_end(text: &str, from: usize, end: usize) -> usize {
    let rest = text.get(from..end).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    from + line.trim_end_matches('\r').len()
}

/// Returns whether a line, without its line break, is the marker `---` or `...` (YAML 1.2, 9.1.2). A comment or a value
/// may follow on the same line.
#[must_use]
pub fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns whether kubectl and kustomize split a file at a line: it starts with `---`, and only white space or a comment
/// follows. YAML 1.2 requires a space or tab before the comment.
pub(super) fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.is_empty() || rest.starts_with('#')
    })
}

/// Returns whether kubectl and kustomize split a file at `line`, which follows `before`, although it is not a marker in
/// YAML 1.2.
#[must_use]
pub fn is_touching_separator(before: &str, line: &str) -> bool {
    is_separator(line)
        && !is_marker(line.trim_end_matches(['\n', '\r']), "---")
        && starts_part(before)
}

/// Returns where the content of the document in `segment` starts: behind a separator that is not a marker in YAML 1.2, or
/// behind a byte order mark.
pub(super) fn content_start(text: &str, segment: Span) -> usize {
    let source = segment.slice(text);
    let line = marker_line_end(source);
    let before = text.get(..segment.start).unwrap_or_default();
    if is_touching_separator(before, source.get(..line).unwrap_or_default()) {
        let rest = source.get(line..).unwrap_or_default();
        return segment.end - without_mark(rest).len();
    }
    segment.start + byte_order_mark_end(source)
}

fn marker_line_end(source: &str) -> usize {
    memchr::memchr(b'\n', source.as_bytes()).map_or(source.len(), |at| at + 1)
}

/// Returns where the content of a document starts that has a byte order mark; 0 for one without.
///
/// The mark is at the start of the document, or behind the line with `---`, where `cat` puts the mark of the second
/// file. kubectl and kustomize accept both.
pub(super) fn byte_order_mark_end(source: &str) -> usize {
    let mut rest = without_mark(source);
    let first = source.len() - rest.len();
    while let Some((line, next)) = rest.split_once('\n') {
        let line = line.trim_end_matches('\r');
        let marker = if is_marker(line, "---") { "---" } else { "" };
        let content = line.strip_prefix(marker).unwrap_or(line).trim_start();
        if !content.is_empty() && !content.starts_with('#') {
            break;
        }
        if !marker.is_empty() {
            let content = without_mark(next);
            return if content.len() < next.len() {
                source.len() - content.len()
            } else {
                first
            };
        }
        rest = next;
    }
    first
}

/// Returns whether kubectl and kustomize split a file at a marker that follows `before`. Of markers that follow each
/// other directly they split at every second one: at the first if it has a line in front of it.
fn starts_part(before: &str) -> bool {
    let mut markers = 0;
    let mut rest = before;
    while let Some(lines) = rest.strip_suffix('\n') {
        let start = lines.rfind('\n').map_or(0, |end| end + 1);
        let line = lines.get(start..).unwrap_or_default();
        if !is_separator(line) {
            return markers % 2 == 0;
        }
        markers += 1;
        rest = lines.get(..start).unwrap_or_default();
    }
    markers % 2 == 1
}

const MARK: char = '\u{feff}';

fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Returns the content of a document behind its separator, where that is not a marker in YAML 1.2, and behind its byte
/// order mark ([`byte_order_mark_end`]).
pub(super) fn without_byte_order_mark(source: &str) -> &str {
    let line = source.get(..marker_line_end(source)).unwrap_or_default();
    if is_separator(line) && !is_marker(line.trim_end_matches(['\n', '\r']), "---") {
        return without_mark(source.get(line.len()..).unwrap_or_default());
    }
    source.get(byte_order_mark_end(source)..).unwrap_or(source)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::parse;

    fn found(text: &str) -> Vec<String> {
        let text: Arc<str> = text.into();
        let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
        let spans = comments(&tree);
        spans
            .iter()
            .map(|span| span.slice(&text).to_owned())
            .collect()
    }

    #[test]
    fn comments_are_found_outside_of_scalars_only() {
        let text = "\u{feff}# 1\na: b # 2\r\nc: 'x # no' # 3\nd: \"y\n  # no\"\ne: x#no\nf: | # 4\n  # no\n  z # no\n# 5\ng: >\n  # no\nh: [a, # 6\n  b] # 7\ni: &x#no 1\nj: k\n  l # 8\n# 9";
        let wanted: Vec<String> = (1..=9).map(|number| format!("# {number}")).collect();
        assert_eq!(found(text), wanted);
    }
}
