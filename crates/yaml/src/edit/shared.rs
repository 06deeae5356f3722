//! Rejects changes of text that anchors, aliases and merge keys share: no such change occurs in public manifests, and
//! writing the shared values out would change much more than the field.

use crate::change::Change;
use crate::edit::children::children;
use crate::edit::intent::effective_changes;
use crate::field_path::Step;
use crate::text_edit::EditError;
use crate::tree::{Kind, NodeRef, Tree};

/// Checks that the changes do not affect text that is used more than once.
///
/// # Errors
/// [`EditError`] at the first alias or merge key that a change would affect.
pub(super) fn refuse_shared(tree: &Tree, changes: &[Change]) -> Result<(), EditError> {
    let has_shared_text = tree.has_anchors() || tree.has_merge_keys();
    let Some(root) = tree.root().filter(|_| has_shared_text) else {
        return Ok(());
    };
    let aliases = tree.all().filter(|node| node.kind() == Kind::Alias);
    let uses = Uses(aliases.collect());
    effective_changes(root, changes)
        .into_iter()
        .try_for_each(|change| uses.check(root, change))
}

/// The aliases of a document.
struct Uses<'t>(Vec<NodeRef<'t>>);

impl<'t> Uses<'t> {
    fn check(&self, root: NodeRef<'t>, change: &Change) -> Result<(), EditError> {
        let mut node = root;
        let steps = change.route().steps();
        for (index, step) in steps.iter().enumerate() {
            self.refuse_alias(node)?;
            let is_last = index + 1 == steps.len();
            let next = match step {
                Step::Index(index) => node.item(*index),
                Step::Key(key) => match node.entry(key) {
                    // The mapping's own key overrides the merge key.
                    Some(entry)
                        if entry.merged && is_last && matches!(change, Change::Set { .. }) =>
                    {
                        None
                    }
                    Some(entry) if entry.merged => {
                        return refuse(node, "a merge key adds the field");
                    }
                    // The entry that a merge key adds would replace the removed one.
                    Some(_)
                        if is_last && is_removal(change) && node.merged_entry(key).is_some() =>
                    {
                        return refuse(node, "a merge key adds the same field");
                    }
                    entry => entry.map(|entry| entry.value),
                },
            };
            let Some(next) = next else { return Ok(()) };
            node = next;
        }
        match change {
            Change::Push { .. } => self.refuse_alias(node),
            _ => self.refuse_used(node, change),
        }
    }

    /// Rejects a change within a node that is an alias or has one.
    fn refuse_alias(&self, node: NodeRef<'t>) -> Result<(), EditError> {
        let is_shared =
            node.anchor_span().is_some() && self.0.iter().any(|alias| alias.resolved() == node);
        match is_shared || node.kind() == Kind::Alias {
            true => refuse(node, "an alias shares the value"),
            false => Ok(()),
        }
    }

    /// Rejects the replacement or removal of a node if an alias that stays refers to a part of it.
    fn refuse_used(&self, node: NodeRef<'t>, change: &Change) -> Result<(), EditError> {
        let removed = matches!(change, Change::Remove { .. }).then(|| node.span());
        let mut stack = vec![node];
        while let Some(part) = stack.pop() {
            let is_used = |alias: &NodeRef<'t>| {
                alias.resolved() == part
                    && removed.is_none_or(|removed| !removed.contains(alias.span()))
            };
            if part.kind() == Kind::Alias {
                continue;
            }
            if part.anchor_span().is_some() && self.0.iter().any(is_used) {
                return refuse(part, "an alias shares the value");
            }
            for child in children(part) {
                stack.extend(child.key);
                stack.push(child.value);
            }
        }
        Ok(())
    }
}

const fn is_removal(change: &Change) -> bool {
    matches!(change, Change::Remove { .. } | Change::Replace { .. })
}

fn refuse(node: NodeRef<'_>, reason: &str) -> Result<(), EditError> {
    Err(EditError {
        offset: node.span().start,
        reason: format!("cannot change shared text: {reason}"),
    })
}
