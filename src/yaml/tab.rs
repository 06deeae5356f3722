//! Tabs that kubectl and kustomize do not accept.
//!
//! YAML 1.2 takes a tab for a blank behind `-`, `?` and `:`, and on lines without content. libyaml and go-yaml refuse it
//! wherever a key could start.

use memchr::memchr;

use super::parse::SyntaxError;
use super::tree::Tree;
use super::verify::tab_line;

/// Returns why kubectl and kustomize refuse a document because of a tab; `None` if they accept its tabs, or refuse
/// something else.
///
/// The second parser reads the document only if a tab is where a key could start.
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
        message: "found a tab where kubectl and kustomize accept only blanks".to_owned(),
    })
}

/// Returns the first tab before the content of a line.
fn leading_tab(line: &str) -> Option<usize> {
    let mut bytes = line.bytes().enumerate();
    let (at, byte) = bytes.find(|(_, byte)| !matches!(byte, b' ' | b'-' | b'?' | b':'))?;
    (byte == b'\t').then_some(at)
}
