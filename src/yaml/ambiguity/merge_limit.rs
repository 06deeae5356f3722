//! Merge keys beyond the limits up to which they are followed.

use hashbrown::HashMap;

use crate::yaml::merge::{MERGE_DEPTH, MERGED_MAPPINGS};
use crate::yaml::tree::{Kind, NodeRef, Tree};

use super::{Ambiguity, AmbiguityKind};

/// Reports the first mapping whose merge keys are not followed to their end.
pub(super) fn find(tree: &Tree) -> Option<Ambiguity> {
    if !tree.has_merge_keys() {
        return None;
    }
    let mut extents = Extents::default();
    let mut mappings = tree
        .all()
        .filter(|node| node.kind() == Kind::Mapping && node.has_merge_key());
    let mapping = mappings.find(|mapping| extents.of(*mapping).exceeds_limits())?;
    of_mapping(mapping, AmbiguityKind::MergeLimit)
}

/// Reports the root of a document if its merge keys are not followed to their end: they may bring in any key.
pub(super) fn find_at_root(tree: &Tree) -> Option<Ambiguity> {
    let root = tree.root().filter(|root| root.has_merge_key())?;
    let exceeds = Extents::default().of(root).exceeds_limits();
    of_mapping(root, AmbiguityKind::HiddenSyntax).filter(|_| exceeds)
}

fn of_mapping(mapping: NodeRef<'_>, kind: AmbiguityKind) -> Option<Ambiguity> {
    let merge = mapping.entries().find(|entry| entry.key.is_merge_key())?;
    Some(Ambiguity {
        kind,
        span: merge.key.span(),
        message: format!(
            "this merge key leads through more than {MERGE_DEPTH} levels or {MERGED_MAPPINGS} mappings; values \
             beyond this limit were not read"
        ),
        help: "write the entries out, or check the rendered manifest",
    })
}

/// How far the merge keys of a mapping lead.
#[derive(Clone, Copy)]
struct Extent {
    /// The merge keys that lead from one to the next.
    levels: usize,
    /// The mappings that are looked at, counted each time that one is met.
    mappings: usize,
}

impl Extent {
    const ENDLESS: Self = Self {
        levels: usize::MAX,
        mappings: usize::MAX,
    };

    const fn exceeds_limits(self) -> bool {
        self.levels > MERGE_DEPTH || self.mappings > MERGED_MAPPINGS
    }
}

/// The extents of mappings; `None` while one is worked out, so that a mapping that is merged into itself is noticed.
#[derive(Default)]
struct Extents {
    known: HashMap<u32, Option<Extent>>,
}

impl Extents {
    /// Returns the extent of a mapping. Chains of aliases can be longer than the stack is deep, so none of this is
    /// recursive.
    fn of(&mut self, mapping: NodeRef<'_>) -> Extent {
        let mut waiting = vec![mapping.resolved()];
        while let Some(&node) = waiting.last() {
            match self.known.get(&node.id()) {
                None => {
                    self.known.insert(node.id(), None);
                    let new = bases(node).filter(|base| !self.known.contains_key(&base.id()));
                    waiting.extend(new);
                }
                Some(None) => {
                    let extent = self.sum(node);
                    self.known.insert(node.id(), Some(extent));
                    waiting.pop();
                }
                Some(Some(_)) => {
                    waiting.pop();
                }
            }
        }
        self.get(mapping.resolved())
    }

    fn sum(&self, mapping: NodeRef<'_>) -> Extent {
        let none = Extent {
            levels: 0,
            // The parser counts a list of mappings like a mapping.
            mappings: 1 + lists(mapping),
        };
        bases(mapping).fold(none, |sum, base| {
            let base = self.get(base);
            Extent {
                levels: sum.levels.max(base.levels.saturating_add(1)),
                mappings: sum.mappings.saturating_add(base.mappings),
            }
        })
    }

    fn get(&self, mapping: NodeRef<'_>) -> Extent {
        let known = self.known.get(&mapping.id()).copied();
        known.flatten().unwrap_or(Extent::ENDLESS)
    }
}

/// Returns how many merge keys of a mapping have a list as their value.
fn lists(mapping: NodeRef<'_>) -> usize {
    let merges = mapping.entries().filter(|entry| entry.key.is_merge_key());
    let values = merges.map(|entry| entry.value.resolved());
    values
        .filter(|value| value.kind() == Kind::Sequence)
        .count()
}

/// Returns the mappings that the merge keys of a mapping name.
fn bases(mapping: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let merges = mapping.entries().filter(|entry| entry.key.is_merge_key());
    let named = merges.flat_map(|merge| std::iter::once(merge.value).chain(merge.value.items()));
    named
        .map(NodeRef::resolved)
        .filter(|base| base.kind() == Kind::Mapping)
}
