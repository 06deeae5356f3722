//! Comments of a document: the text after a `#` outside of scalars.

use super::span::Span;
use super::tree::{Kind, Style, Tree};

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
