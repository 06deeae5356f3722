//! Limit on the size of documents after the expansion of aliases.
//!
//! All later stages follow aliases, so their work grows with the expanded size of a document, which can
//! double with every line of the text.

use crate::syntax_error::{EXPANDS_TOO_FAR, SyntaxError};
use crate::tree::{Kind, Tree};

/// Expanded size, in nodes, up to which every document is accepted.
const MAX_NODES: u64 = 250_000;
/// Limit for larger documents: the ratio of the expanded size to the written size.
const MAX_RATIO: u64 = 10;

/// Size that is counted for an alias inside its own target. One such alias is tolerated; two exceed the limit.
const SELF_REFERENCE: u64 = MAX_NODES / 2 + 1;

/// Checks the expanded size of a document, and returns the document unchanged.
///
/// # Errors
/// [`SyntaxError`] at the alias with the largest target, if the document expands to more than 250,000 nodes and ten
/// times its own nodes, or if several aliases are inside their own targets.
pub fn check_expanded_size(tree: Option<Tree>) -> Result<Option<Tree>, SyntaxError> {
    match tree.as_ref().and_then(largest_alias_over_limit) {
        Some(offset) => Err(SyntaxError {
            offset,
            message: EXPANDS_TOO_FAR.into(),
        }),
        None => Ok(tree),
    }
}

/// Returns the offset of the alias with the largest target if the document exceeds the limit.
fn largest_alias_over_limit(tree: &Tree) -> Option<usize> {
    if !tree.has_anchors() {
        return None;
    }
    let mut sizes = ExpandedSizes {
        tree,
        known: vec![None; tree.nodes.len()],
        largest: (0, 0),
    };
    let expanded = sizes.size(tree.root);
    let written = tree.nodes.len() as u64;
    let allowed = MAX_NODES.max(written.saturating_mul(MAX_RATIO));
    (expanded > allowed).then_some(sizes.largest.1)
}

/// The expanded sizes of nodes.
struct ExpandedSizes<'t> {
    tree: &'t Tree,
    /// The expanded size of each node; `None` until it is computed.
    known: Vec<Option<u64>>,
    /// The largest expanded size of an alias, and the offset of that alias.
    largest: (u64, usize),
}

impl ExpandedSizes<'_> {
    /// Returns the expanded size of a node. The parser limits the depth of the recursion. An anchor precedes its
    /// aliases, so a target whose size is not known contains the alias.
    fn size(&mut self, id: u32) -> u64 {
        let tree = self.tree;
        let Some(node) = tree.nodes.get(id as usize) else {
            return 0;
        };
        let size = match node.kind {
            Kind::Scalar => 1,
            Kind::Alias => {
                let target = self.known.get(node.first as usize).copied();
                let size = target.map_or(1, |known| known.unwrap_or(SELF_REFERENCE));
                if size > self.largest.0 {
                    self.largest = (size, node.span.span().start);
                }
                size
            }
            Kind::Mapping | Kind::Sequence => {
                let range = node.first as usize..node.last as usize;
                let children = tree.links.get(range).unwrap_or_default();
                let sum = |sum: u64, &child: &u32| sum.saturating_add(self.size(child));
                children.iter().fold(1, sum)
            }
        };
        if let Some(slot) = self.known.get_mut(id as usize) {
            *slot = Some(size);
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::alias_limit::check_expanded_size;
    use crate::{Span, parse};

    fn refused(text: &str) -> Option<usize> {
        let text: Arc<str> = text.into();
        parse(&text, Span::new(0, text.len()))
            .and_then(check_expanded_size)
            .err()
            .map(|error| error.offset)
    }

    #[test]
    fn aliases_may_repeat_but_not_multiply() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..7 {
            let below = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
            // A hundred thousand values at level 4, a million at the next.
            assert_eq!(refused(&text).is_some(), level > 4, "level {level}");
        }
        let many = vec!["*a"; 100_000].join(", ");
        assert_eq!(refused(&format!("[&a {{b: c}}, {many}]")), None);
        let large = format!("[&a [{}], {many}]", vec!["x"; 1000].join(", "));
        assert_eq!(refused(&large), large.find("*a"));
    }

    #[test]
    fn a_value_that_contains_two_aliases_of_itself_is_refused() {
        assert_eq!(refused("a: &a [x, *a]\n"), None);
        assert_eq!(refused("a: &a [x, *a, *a]\n"), Some(10));
        assert_eq!(refused("a: &a x\nb: *a\n"), None);
    }
}
