//! Keeps changes to themselves where text is shared by anchors, aliases and merge keys.
//!
//! Before a document is changed, what the changes would share with others becomes text of its
//! own: an alias becomes a copy of what it stands for, an entry that a merge key brings in is
//! written down. Every such step leaves the meaning of the document as it was.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::emit::{Emitter, children};
use super::intent::pending;
use super::{Edit, EditError};
use crate::yaml::change::Change;
use crate::yaml::route::Step;
use crate::yaml::tree::{Entry, Kind, NodeRef, Tree};

/// One step that makes shared text a node's own.
#[derive(Debug)]
enum Unshare<'t> {
    /// Write an alias out.
    Alias(NodeRef<'t>),
    /// Write down, in this mapping, an entry that a merge key brings in.
    Entry(NodeRef<'t>, Entry<'t>),
    /// Write all entries in the place of the merge key of this mapping.
    Merge(NodeRef<'t>),
}

/// Returns the edits after which one more of the shared places is a place of its own; empty when
/// the changes meet nothing shared any more.
pub(super) fn unshare(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let Some(root) = tree
        .root()
        .filter(|_| tree.has_anchors() || tree.has_merge_keys())
    else {
        return Ok(Vec::new());
    };
    let mut walk = Walk {
        aliases: tree
            .all()
            .filter(|node| node.kind() == Kind::Alias)
            .collect(),
        found: Vec::new(),
    };
    for change in pending(root, changes) {
        walk.follow(root, change);
    }
    if walk.found.is_empty() {
        return Ok(Vec::new());
    }
    refuse_captured_aliases(tree, &walk)?;
    let mut emitter = Emitter::new(tree);
    // Merge keys go one by one, while they still name a base: what is written out below a merge
    // key has comments of its own. Aliases do not touch each other's text.
    let is_alias = |step: &&Unshare<'_>| matches!(step, Unshare::Alias(_));
    match walk.found.iter().find(|step| !is_alias(step)) {
        Some(Unshare::Entry(mapping, entry)) => emitter.write_down(*mapping, *entry)?,
        Some(Unshare::Merge(mapping)) => emitter.expand(*mapping)?,
        _ => {
            for step in &walk.found {
                if let Unshare::Alias(alias) = step {
                    emitter.write_out(*alias)?;
                }
            }
        }
    }
    emitter.finish()
}

/// A copy must mean at its new place what it means at the old one: an alias inside of it must not
/// get behind another anchor of the same name. Anchors may be defined anew (YAML 1.2.2, 6.9.2), and
/// the items of a list often do.
fn refuse_captured_aliases(tree: &Tree, walk: &Walk<'_>) -> Result<(), EditError> {
    let again = defined_again(tree);
    if again.is_empty() {
        return Ok(());
    }
    let goes = |alias: &&NodeRef<'_>| {
        walk.found.iter().any(|step| match step {
            Unshare::Alias(found) => found == *alias,
            Unshare::Entry(mapping, _) | Unshare::Merge(mapping) => {
                mapping.span().contains(alias.span())
            }
        })
    };
    let mut uses: HashMap<u32, Vec<usize>> = HashMap::new();
    for alias in walk.aliases.iter().filter(goes) {
        let places = uses.entry(alias.resolved().id()).or_default();
        places.push(alias.span().start);
    }
    for alias in &walk.aliases {
        let name = alias.source().trim_start_matches('*');
        let Some(later) = again.get(name) else {
            continue;
        };
        // The anchor that takes the name over behind this alias, and what is copied with it.
        let taken = later.partition_point(|start| *start < alias.span().start);
        let Some(&taken) = later.get(taken) else {
            continue;
        };
        let around = std::iter::successors(alias.parent(), |node| node.parent());
        let copied = around
            .filter_map(|node| uses.get(&node.id()))
            .any(|places| places.iter().any(|place| *place > taken));
        if copied {
            return Err(EditError {
                offset: taken,
                reason: format!("the anchor `&{name}` is defined twice"),
            });
        }
    }
    Ok(())
}

/// The names that several anchors have, with the places of all of them, in order.
fn defined_again(tree: &Tree) -> BTreeMap<&str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for span in tree.anchors() {
        let name = span.slice(tree.text()).trim_start_matches('&');
        places.entry(name).or_default().push(span.start);
    }
    places.retain(|_, starts| starts.len() > 1);
    for starts in places.values_mut() {
        starts.sort_unstable();
    }
    places
}

struct Walk<'t> {
    aliases: Vec<NodeRef<'t>>,
    found: Vec<Unshare<'t>>,
}

impl<'t> Walk<'t> {
    /// Follows the route of a change and notes what it shares with others.
    fn follow(&mut self, root: NodeRef<'t>, change: &Change) {
        let mut node = root;
        let steps = change.route().steps();
        for (index, step) in steps.iter().enumerate() {
            self.own(node);
            if node.kind() == Kind::Alias {
                return self.note(node);
            }
            let next = match step {
                Step::Index(index) => node.item(*index),
                Step::Key(key) => match node.entry(key) {
                    Some(entry) if entry.merged => {
                        let is_last = index + 1 == steps.len();
                        return self.merged(node, entry, change, is_last);
                    }
                    entry => {
                        let taken =
                            matches!(change, Change::Remove { .. } | Change::Replace { .. });
                        let is_last = index + 1 == steps.len();
                        // What a merge key brings in would take the place of what goes.
                        if taken && is_last && node.merged_entry(key).is_some() {
                            self.found.push(Unshare::Merge(node));
                        }
                        entry.map(|entry| entry.value)
                    }
                },
            };
            let Some(next) = next else { return };
            node = next;
        }
        match change {
            Change::Push { .. } if node.kind() == Kind::Alias => self.note(node),
            Change::Push { .. } => self.own(node),
            Change::Remove { .. } => self.own_below(node, true),
            Change::Set { .. } | Change::Replace { .. } => self.own_below(node, false),
        }
    }

    fn merged(&mut self, mapping: NodeRef<'t>, entry: Entry<'t>, change: &Change, is_last: bool) {
        match change {
            // A key of its own beside the merge key wins.
            Change::Set { .. } if is_last => {}
            Change::Remove { .. } | Change::Replace { .. } if is_last => {
                self.found.push(Unshare::Merge(mapping));
            }
            _ => self.found.push(Unshare::Entry(mapping, entry)),
        }
    }

    fn note(&mut self, alias: NodeRef<'t>) {
        let known = |step: &Unshare<'t>| matches!(step, Unshare::Alias(other) if *other == alias);
        if !self.found.iter().any(known) {
            self.found.push(Unshare::Alias(alias));
        }
    }

    /// All aliases of a node that changes keep the value that it has.
    fn own(&mut self, node: NodeRef<'t>) {
        self.own_except(node, None);
    }

    fn own_except(&mut self, node: NodeRef<'t>, gone: Option<NodeRef<'t>>) {
        if node.anchor_span().is_none() || node.kind() == Kind::Alias {
            return;
        }
        let aliases = self.aliases.iter().copied();
        let affected: Vec<_> = aliases
            .filter(|alias| alias.resolved() == node)
            .filter(|alias| gone.is_none_or(|gone| !gone.span().contains(alias.span())))
            .collect();
        for alias in affected {
            self.note(alias);
        }
    }

    /// The same for everything below a node; aliases inside what is removed need nothing.
    fn own_below(&mut self, node: NodeRef<'t>, removed: bool) {
        let gone = removed.then_some(node);
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            self.own_except(node, gone);
            if node.kind() != Kind::Alias {
                for child in children(node) {
                    stack.extend(child.key);
                    stack.push(child.value);
                }
            }
        }
    }
}
