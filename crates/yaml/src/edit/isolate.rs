//! Isolates changes from text that anchors, aliases and merge keys share.
//!
//! Before a document is changed, the shared text that the changes would affect is expanded: an alias is replaced by a
//! copy of its target, and an entry of a merge key is written into the mapping. No step changes the content of
//! the document.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::change::Change;
use crate::edit::children::children;
use crate::edit::emitter::Emitter;
use crate::edit::intent::effective_changes;
use crate::field_path::Step;
use crate::text_edit::{Edit, EditError};
use crate::tree::{Entry, Kind, NodeRef, Tree};

/// A step that expands shared text.
#[derive(Debug)]
enum ExpansionStep<'t> {
    /// Replace an alias by a copy of its target.
    Alias(NodeRef<'t>),
    /// Write an entry of a merge key into this mapping.
    Entry(NodeRef<'t>, Entry<'t>),
    /// Replace the merge key of this mapping by all entries that it adds.
    Merge(NodeRef<'t>),
}

/// Returns edits that expand the next shared text that the changes affect; empty if they do not affect shared
/// text.
///
/// # Errors
/// [`EditError`] if the shared text cannot be copied.
pub(super) fn isolate_changes(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
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
    for change in effective_changes(root, changes) {
        walk.follow(root, change);
    }
    if walk.found.is_empty() {
        return Ok(Vec::new());
    }
    refuse_captured_aliases(tree, &walk)?;
    let mut emitter = Emitter::new(tree);
    // Merge keys are expanded one by one, while they still refer to a base, because the text that replaces an alias
    // below a merge key has its own comments. Edits of aliases do not overlap.
    let is_alias = |step: &&ExpansionStep<'_>| matches!(step, ExpansionStep::Alias(_));
    match walk.found.iter().find(|step| !is_alias(step)) {
        Some(ExpansionStep::Entry(mapping, entry)) => {
            emitter.write_merged_entry(*mapping, *entry)?
        }
        Some(ExpansionStep::Merge(mapping)) => emitter.expand_merge_key(*mapping)?,
        _ => {
            for step in &walk.found {
                if let ExpansionStep::Alias(alias) = step {
                    emitter.expand_alias(*alias)?;
                }
            }
        }
    }
    emitter.finish()
}

/// Rejects a copy that would change the target of an alias in it, because another anchor with the same name is between
/// the original and the copy. Anchors may be defined again (YAML 1.2.2, 6.9.2), which is frequent in the items of a
/// list.
fn refuse_captured_aliases(tree: &Tree, walk: &Walk<'_>) -> Result<(), EditError> {
    let redefined = redefined_anchors(tree);
    if redefined.is_empty() {
        return Ok(());
    }
    let is_replaced = |alias: &&NodeRef<'_>| {
        walk.found.iter().any(|step| match step {
            ExpansionStep::Alias(found) => found == *alias,
            ExpansionStep::Entry(mapping, _) | ExpansionStep::Merge(mapping) => {
                mapping.span().contains(alias.span())
            }
        })
    };
    let mut uses: HashMap<u32, Vec<usize>> = HashMap::new();
    for alias in walk.aliases.iter().filter(is_replaced) {
        let places = uses.entry(alias.resolved().id()).or_default();
        places.push(alias.span().start);
    }
    for alias in &walk.aliases {
        let name = alias.source().trim_start_matches('*');
        let Some(anchors) = redefined.get(name) else {
            continue;
        };
        // The next anchor with this name after the alias.
        let next = anchors.partition_point(|start| *start < alias.span().start);
        let Some(&next) = anchors.get(next) else {
            continue;
        };
        let is_captured = std::iter::successors(alias.parent(), |node| node.parent())
            .filter_map(|node| uses.get(&node.id()))
            .any(|places| places.iter().any(|place| *place > next));
        if is_captured {
            return Err(EditError {
                offset: next,
                reason: format!("the anchor `&{name}` is defined twice"),
            });
        }
    }
    Ok(())
}

/// Returns the names of anchors that are defined more than once, with the sorted offsets of all definitions.
fn redefined_anchors(tree: &Tree) -> BTreeMap<&str, Vec<usize>> {
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

/// The aliases of a document, and the steps found so far.
struct Walk<'t> {
    aliases: Vec<NodeRef<'t>>,
    found: Vec<ExpansionStep<'t>>,
}

impl<'t> Walk<'t> {
    /// Follows the route of a change, and records the steps that expand the shared text on it.
    fn follow(&mut self, root: NodeRef<'t>, change: &Change) {
        let mut node = root;
        let steps = change.route().steps();
        for (index, step) in steps.iter().enumerate() {
            self.isolate(node);
            if node.kind() == Kind::Alias {
                return self.expand_alias(node);
            }
            let next = match step {
                Step::Index(index) => node.item(*index),
                Step::Key(key) => match node.entry(key) {
                    Some(entry) if entry.merged => {
                        let is_last = index + 1 == steps.len();
                        return self.merged(node, entry, change, is_last);
                    }
                    entry => {
                        let is_removed =
                            matches!(change, Change::Remove { .. } | Change::Replace { .. });
                        let is_last = index + 1 == steps.len();
                        // The entry that a merge key adds would replace the removed one.
                        if is_removed && is_last && node.merged_entry(key).is_some() {
                            self.found.push(ExpansionStep::Merge(node));
                        }
                        entry.map(|entry| entry.value)
                    }
                },
            };
            let Some(next) = next else { return };
            node = next;
        }
        match change {
            Change::Push { .. } if node.kind() == Kind::Alias => self.expand_alias(node),
            Change::Push { .. } => self.isolate(node),
            Change::Remove { .. } => self.isolate_below(node, true),
            Change::Set { .. } | Change::Replace { .. } => self.isolate_below(node, false),
        }
    }

    /// Records the step for an entry that a merge key adds.
    fn merged(&mut self, mapping: NodeRef<'t>, entry: Entry<'t>, change: &Change, is_last: bool) {
        match change {
            // The mapping's own key overrides the merge key.
            Change::Set { .. } if is_last => {}
            Change::Remove { .. } | Change::Replace { .. } if is_last => {
                self.found.push(ExpansionStep::Merge(mapping));
            }
            _ => self.found.push(ExpansionStep::Entry(mapping, entry)),
        }
    }

    fn expand_alias(&mut self, alias: NodeRef<'t>) {
        let known = |step: &ExpansionStep<'t>| matches!(step, ExpansionStep::Alias(other) if *other == alias);
        if !self.found.iter().any(known) {
            self.found.push(ExpansionStep::Alias(alias));
        }
    }

    /// Expands all aliases of a node that changes, so that they keep its current value.
    fn isolate(&mut self, node: NodeRef<'t>) {
        self.isolate_except(node, None);
    }

    /// Expands all aliases of a node that changes, except those inside the node `removed`.
    fn isolate_except(&mut self, node: NodeRef<'t>, removed: Option<NodeRef<'t>>) {
        if node.anchor_span().is_none() || node.kind() == Kind::Alias {
            return;
        }
        let affected: Vec<_> = self
            .aliases
            .iter()
            .copied()
            .filter(|alias| alias.resolved() == node)
            .filter(|alias| removed.is_none_or(|removed| !removed.span().contains(alias.span())))
            .collect();
        for alias in affected {
            self.expand_alias(alias);
        }
    }

    /// Expands all aliases of a node and its descendants, except those inside the node if it is removed.
    fn isolate_below(&mut self, node: NodeRef<'t>, is_removed: bool) {
        let removed = is_removed.then_some(node);
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            self.isolate_except(node, removed);
            if node.kind() != Kind::Alias {
                for child in children(node) {
                    stack.extend(child.key);
                    stack.push(child.value);
                }
            }
        }
    }
}
