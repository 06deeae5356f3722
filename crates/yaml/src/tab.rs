//! Tabs that kubectl and kustomize do not accept.
//!
//! YAML 1.2 treats a tab like a space after `-`, `?` and `:`, and on lines without content. libyaml and go-yaml reject
//! it wherever a key could start.

use memchr::memchr;

use super::syntax_error::SyntaxError;
use super::tree::Tree;
use super::verify::tab_line;

/// Returns why kubectl and kustomize reject a document because of a tab; `None` if they accept its tabs, or reject
/// the document for another reason.
///
/// The second parser reads the document only if a tab is at a position where a key could start.
#[must_use]
pub fn tab_fault(tree: &Tree) -> Option<SyntaxError> {
    let segment = tree.segment();
    let source = segment.slice(tree.text());
    memchr(b'\t', source.as_bytes())?;
    let mut start = segment.start;
    let mut found = Vec::new();
    for line in source.split_inclusive('\n') {
        found.push(leading_tab(line).map(|at| start + at));
        start += line.len();
    }
    let first = found.iter().copied().flatten().next()?;
    let line = tab_line(source)?;
    let at = line.checked_sub(1).and_then(|line| *found.get(line)?);
    Some(SyntaxError {
        offset: at.unwrap_or(first),
        message: "found a tab where kubectl and kustomize accept only spaces".to_owned(),
    })
}

/// Returns the first tab before the content of a line.
fn leading_tab(line: &str) -> Option<usize> {
    let mut bytes = line.bytes().enumerate();
    let (at, byte) = bytes.find(|(_, byte)| !matches!(byte, b' ' | b'-' | b'?' | b':'))?;
    (byte == b'\t').then_some(at)
}
