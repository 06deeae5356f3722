//! Merge keys that exceed the limits on depth and on the number of mappings.

use hashbrown::HashMap;

use crate::merge_limits::{MERGE_DEPTH, MERGED_MAPPINGS};
use crate::tree::{Kind, NodeRef, Tree};

use super::kind::{Ambiguity, AmbiguityKind};

/// Returns the first mapping whose merge keys exceed the limits.
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

/// Returns the root of a document if its merge keys exceed the limits: they may add any key.
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

/// Depth and number of the mappings that the merge keys of a mapping refer to.
#[derive(Clone, Copy)]
struct Extent {
    /// The length of the longest chain of merge keys.
    levels: usize,
    /// The number of mappings that are visited, including repetitions.
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

/// The extents of mappings. The value is `None` while it is computed, which detects a mapping that is merged into
/// itself.
#[derive(Default)]
struct Extents {
    known: HashMap<u32, Option<Extent>>,
}

impl Extents {
    /// Returns the extent of a mapping. This function is not recursive, because long chains of aliases would overflow
    /// the stack.
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
            // `NodeRef::entry` counts a list of mappings like a mapping.
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
    mapping
        .entries()
        .filter(|entry| entry.key.is_merge_key())
        .filter(|entry| entry.value.resolved().kind() == Kind::Sequence)
        .count()
}

/// Returns the mappings that the merge keys of a mapping refer to.
fn bases(mapping: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    mapping
        .entries()
        .filter(|entry| entry.key.is_merge_key())
        .flat_map(|merge| std::iter::once(merge.value).chain(merge.value.items()))
        .map(NodeRef::resolved)
        .filter(|base| base.kind() == Kind::Mapping)
}
