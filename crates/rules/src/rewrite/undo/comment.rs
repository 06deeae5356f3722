//! Comments that belong to an entry. A rewrite writes no comments, so an entry with a comment existed before it.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::{Entry, NodeRef, Style, Tree};

/// Returns whether a comment is between the key and the value, after the value on its line, or, for a mapping, below it
/// and deeper than the key.
pub(super) fn has_comment(object: &Object<'_>, entry: &Entry<'_>) -> bool {
    let Some(text) = object.document.tree().map(Tree::text) else {
        return false;
    };
    let (key, value) = (entry.key.span(), entry.value.span());
    let between = text.get(key.end..value.start).unwrap_or_default();
    let header = header(entry.value);
    let behind = text.get(value.end..).unwrap_or_default();
    let mut below = behind.lines();
    let same_line = if header.is_some() { None } else { below.next() };
    let before = text.get(..key.start).unwrap_or_default();
    let column = before.len() - before.rfind('\n').map_or(0, |position| position + 1);
    let is_mapping = entry.value.is_mapping();
    let deeper = below
        .take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
        .filter(|line| is_mapping && line.len() - line.trim_start().len() > column)
        .any(|line| line.contains('#'));
    // In brackets, other entries may follow, and then the comment belongs to them.
    let at_end = same_line.is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '\t', ',']);
        rest.starts_with('#')
    });
    let above = [Some(between), header];
    deeper || at_end || above.into_iter().flatten().any(|part| part.contains('#'))
}

/// Returns the first line of a block scalar.
fn header(value: NodeRef<'_>) -> Option<&str> {
    let is_block = matches!(value.style(), Style::Literal | Style::Folded);
    value.source().lines().next().filter(|_| is_block)
}
