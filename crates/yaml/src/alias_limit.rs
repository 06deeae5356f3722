//! Limits on the size of documents after the expansion of aliases, and on merge keys, which are only followed so far.
//!
//! All later stages follow aliases, so their work grows with the expanded size of a document, which can
//! double with every line of the text.

use crate::syntax_error::{EXPANDS_TOO_FAR, MERGES_TOO_FAR, SyntaxError};
use crate::tree::{Kind, NodeRef, Tree};
use crate::tree::{MERGE_DEPTH, MERGED_MAPPINGS};

/// Expanded size, in nodes, up to which every document is accepted.
const MAX_NODES: u64 = 250_000;
/// Limit for larger documents: the ratio of the expanded size to the written size.
const MAX_RATIO: u64 = 10;

/// Size that is counted for an alias inside its own target. One such alias is tolerated; two exceed the limit.
const SELF_REFERENCE: u64 = MAX_NODES / 2 + 1;

/// Checks the expanded size and the merge keys of a document, and returns the document unchanged.
///
/// # Errors
/// [`SyntaxError`] at the alias with the largest target, if the document expands to more than 250,000 nodes and ten
/// times its own nodes, or if several aliases are inside their own targets; and at the first merge key that leads
/// through too many levels or mappings.
pub fn check_expanded_size(tree: Option<Tree>) -> Result<Option<Tree>, SyntaxError> {
    match tree.as_ref().and_then(fault) {
        Some(fault) => Err(fault),
        None => Ok(tree),
    }
}

fn fault(tree: &Tree) -> Option<SyntaxError> {
    if !tree.has_anchors() && !tree.has_merge_keys() {
        return None;
    }
    let mut costs = Costs {
        tree,
        known: vec![None; tree.nodes.len()],
        largest: (0, 0),
        merge_fault: None,
    };
    let expanded = costs.of(tree.root).size;
    let written = tree.nodes.len() as u64;
    let allowed = MAX_NODES.max(written.saturating_mul(MAX_RATIO));
    if expanded > allowed {
        return Some(SyntaxError {
            offset: costs.largest.1,
            message: EXPANDS_TOO_FAR.into(),
        });
    }
    costs.merge_fault.map(|offset| SyntaxError {
        offset,
        message: MERGES_TOO_FAR.into(),
    })
}

/// What a node costs if its aliases are followed.
#[derive(Clone, Copy)]
struct Cost {
    /// The number of nodes.
    size: u64,
    /// The length of the longest chain of merge keys that starts at the node.
    levels: usize,
    /// The number of mappings that are visited to look up a key.
    mappings: usize,
}

/// The costs of nodes.
struct Costs<'t> {
    tree: &'t Tree,
    /// The cost of each node; `None` until it is computed.
    known: Vec<Option<Cost>>,
    /// The largest expanded size of an alias, and the offset of that alias.
    largest: (u64, usize),
    /// The offset of the first merge key that exceeds a limit.
    merge_fault: Option<usize>,
}

impl Costs<'_> {
    /// Returns the cost of a node. The parser limits the depth of the recursion. An anchor precedes its
    /// aliases, so a target whose cost is not known contains the alias.
    fn of(&mut self, id: u32) -> Cost {
        let tree = self.tree;
        let mut cost = Cost {
            size: 1,
            levels: 0,
            mappings: 1,
        };
        let Some(node) = tree.nodes.get(id as usize) else {
            return cost;
        };
        let range = node.first as usize..node.last as usize;
        match node.kind {
            Kind::Scalar => {}
            Kind::Alias => {
                let itself = Cost {
                    size: SELF_REFERENCE,
                    levels: usize::MAX,
                    mappings: usize::MAX,
                };
                if let Some(target) = self.known.get(node.first as usize).copied() {
                    cost = target.unwrap_or(itself);
                }
                if cost.size > self.largest.0 {
                    self.largest = (cost.size, node.span.span().start);
                }
            }
            Kind::Sequence => {
                for child in tree.links.get(range).unwrap_or_default() {
                    let item = self.of(*child);
                    cost.size = cost.size.saturating_add(item.size);
                    cost.levels = cost.levels.max(item.levels);
                    cost.mappings = cost.mappings.saturating_add(item.mappings);
                }
            }
            Kind::Mapping => {
                let pairs = tree.links.get(range).unwrap_or_default().as_chunks::<2>().0;
                for [key, value] in pairs {
                    let (of_key, of_value) = (self.of(*key), self.of(*value));
                    let size = of_key.size.saturating_add(of_value.size);
                    cost.size = cost.size.saturating_add(size);
                    if tree.node(*key).is_some_and(NodeRef::is_merge_key) {
                        cost.levels = cost.levels.max(of_value.levels.saturating_add(1));
                        cost.mappings = cost.mappings.saturating_add(of_value.mappings);
                    }
                }
                if cost.levels > MERGE_DEPTH || cost.mappings > MERGED_MAPPINGS {
                    self.merge_fault.get_or_insert(node.span.span().start);
                }
            }
        }
        if let Some(slot) = self.known.get_mut(id as usize) {
            *slot = Some(cost);
        }
        cost
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
