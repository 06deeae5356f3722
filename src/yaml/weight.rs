//! What a document comes to when every alias is written out.
//!
//! Everything below reads through aliases, so the work grows with what they stand for, which may
//! double with every line of the text.

use super::parse::SyntaxError;
use super::tree::{Kind, Tree};

/// A document that comes to fewer nodes is never refused.
const NODES: u64 = 250_000;
/// How many times its own size a larger one may come to.
const TIMES: u64 = 10;

/// What an alias counts for that stands in what it stands for: one such alias repeats, two multiply.
const OWN: u64 = NODES / 2 + 1;

/// Why a document is refused.
pub(super) const TOO_HEAVY: &str = "its aliases stand for over 250,000 values and ten times what \
                                    is written, or for what holds them";

/// Returns the document as it is.
///
/// # Errors
/// [`SyntaxError`] at the alias that stands for the most, where the aliases of the document stand
/// for too much: for more than ten times its own nodes, or several for what holds them.
pub fn bounded(tree: Option<Tree>) -> Result<Option<Tree>, SyntaxError> {
    match tree.as_ref().and_then(too_heavy) {
        Some(offset) => Err(SyntaxError {
            offset,
            message: TOO_HEAVY.into(),
        }),
        None => Ok(tree),
    }
}

fn too_heavy(tree: &Tree) -> Option<usize> {
    if !tree.has_anchors() {
        return None;
    }
    let mut scale = Scale {
        tree,
        known: vec![None; tree.nodes.len()],
        heaviest: (0, 0),
    };
    let whole = scale.weigh(tree.root);
    let own = tree.nodes.len() as u64;
    let allowed = NODES.max(own.saturating_mul(TIMES));
    (whole > allowed).then_some(scale.heaviest.1)
}

struct Scale<'t> {
    tree: &'t Tree,
    /// What a node comes to, once that is known.
    known: Vec<Option<u64>>,
    /// The largest target of an alias, and where that alias is written.
    heaviest: (u64, usize),
}

impl Scale<'_> {
    /// The parser bounds the depth. Anchors stand before their aliases, so a target that is not
    /// known yet is one that holds its own alias.
    fn weigh(&mut self, id: u32) -> u64 {
        let tree = self.tree;
        let Some(node) = tree.nodes.get(id as usize) else {
            return 0;
        };
        let weight = match node.kind {
            Kind::Scalar => 1,
            Kind::Alias => {
                let target = self.known.get(node.first as usize).copied();
                let weight = target.map_or(1, |known| known.unwrap_or(OWN));
                if weight > self.heaviest.0 {
                    self.heaviest = (weight, node.span.span().start);
                }
                weight
            }
            Kind::Mapping | Kind::Sequence => {
                let range = node.first as usize..node.last as usize;
                let children = tree.links.get(range).unwrap_or_default();
                let sum = |sum: u64, &child: &u32| sum.saturating_add(self.weigh(child));
                children.iter().fold(1, sum)
            }
        };
        if let Some(slot) = self.known.get_mut(id as usize) {
            *slot = Some(weight);
        }
        weight
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::bounded;
    use crate::yaml::{Span, parse};

    fn refused(text: &str) -> Option<usize> {
        let text: Arc<str> = text.into();
        parse(&text, Span::new(0, text.len()))
            .and_then(bounded)
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
    fn what_holds_itself_twice_is_refused() {
        assert_eq!(refused("a: &a [x, *a]\n"), None);
        assert_eq!(refused("a: &a [x, *a, *a]\n"), Some(10));
        assert_eq!(refused("a: &a x\nb: *a\n"), None);
    }
}
