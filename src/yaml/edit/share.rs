//! Keeps changes to themselves where text is shared by anchors, aliases and merge keys.
//!
//! Before a document is changed, what the changes would share with others becomes text of its
//! own: an alias becomes a copy of what it stands for, an entry that a merge key brings in is
//! written down. Every such step leaves the meaning of the document as it was.

use super::emit::{Emitter, in_flow};
use super::write::Owner;
use super::{Edit, EditError};
use crate::yaml::change::Change;
use crate::yaml::merge::{effective_entries, key_text};
use crate::yaml::route::Step;
use crate::yaml::same::same;
use crate::yaml::tree::{Entry, Kind, NodeRef, Tree};

/// Bytes of one document that may be written anew.
const COPIED: usize = 1 << 20;
/// Entries that merge keys may bring into one mapping.
const MERGED: usize = 10_000;

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
        .filter(|_| tree.has_anchors() || has_merge_key(tree))
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
    for change in changes {
        let holds = match change {
            Change::Set { route, value } => root.at(route).is_some_and(|node| same(node, value)),
            _ => false,
        };
        if !holds {
            walk.follow(root, change);
        }
    }
    if walk.found.is_empty() {
        return Ok(Vec::new());
    }
    refuse_repeated_anchors(tree)?;
    // Aliases do not touch each other's text; all else goes one by one.
    let aliases: Vec<_> = walk
        .found
        .iter()
        .filter_map(|step| match step {
            Unshare::Alias(alias) => Some(*alias),
            _ => None,
        })
        .collect();
    let mut emitter = Emitter::new(tree);
    if !aliases.is_empty() {
        for alias in aliases {
            emitter.write_out(alias)?;
        }
    } else if let Some(step) = walk.found.first() {
        match *step {
            Unshare::Alias(alias) => emitter.write_out(alias)?,
            Unshare::Entry(mapping, entry) => emitter.write_down(mapping, entry)?,
            Unshare::Merge(mapping) => emitter.expand(mapping)?,
        }
    }
    emitter.finish()
}

fn has_merge_key(tree: &Tree) -> bool {
    tree.all().any(NodeRef::is_merge_key)
}

/// A copy must mean at its new place what it means at the old one.
fn refuse_repeated_anchors(tree: &Tree) -> Result<(), EditError> {
    let mut seen = std::collections::HashSet::new();
    for span in tree.anchors.iter().map(|anchor| anchor.span) {
        let name = span.slice(tree.text());
        if !seen.insert(name) {
            return Err(EditError {
                offset: span.start,
                reason: format!("the anchor `{name}` is defined twice"),
            });
        }
    }
    Ok(())
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
                    entry => entry.map(|entry| entry.value),
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
                for child in super::emit::children(node) {
                    stack.extend(child.key);
                    stack.push(child.value);
                }
            }
        }
    }
}

impl<'t> Emitter<'t> {
    /// Puts a copy of the anchored node in the place of an alias.
    fn write_out(&mut self, alias: NodeRef<'t>) -> Result<(), EditError> {
        let target = alias.resolved();
        self.refuse_copy(alias, target)?;
        if in_flow(alias) {
            let text = self.copy_flow(target, self.around(alias));
            self.edit(alias.span().start, alias.span().end, text);
            return Ok(());
        }
        let Some(slot) = self.slot(alias) else {
            return Err(error(alias, "an alias that is a key cannot be written out"));
        };
        let text = self.copy(target, slot.owner, self.offset(alias))?;
        self.place(alias, slot, &text);
        Ok(())
    }

    /// Writes an entry that a merge key brings in behind the entries of the mapping.
    fn write_down(&mut self, mapping: NodeRef<'t>, entry: Entry<'t>) -> Result<(), EditError> {
        self.refuse_copy(mapping, entry.value)?;
        let children = super::emit::children(mapping);
        let Some(last) = children.last() else {
            return Err(error(mapping, "a merge key is expected here"));
        };
        if mapping.style() == crate::yaml::Style::Flow {
            let text = self.copied_entry(mapping, entry)?;
            self.insert_flow_parts(mapping, last, vec![text]);
            return Ok(());
        }
        self.seal(last.value);
        let at = self.lines.end(last.span().end);
        let indent = " ".repeat(self.column(mapping));
        let text = self.copied_entry(mapping, entry)?;
        self.edit(at, at, format!("{}{indent}{text}", self.lines.eol(at)));
        Ok(())
    }

    /// Writes the entries that a merge key brings in where the merge key stands.
    fn expand(&mut self, mapping: NodeRef<'t>) -> Result<(), EditError> {
        let mut merges = mapping.entries().filter(|entry| entry.key.is_merge_key());
        let (Some(merge), None) = (merges.next(), merges.next()) else {
            return Err(error(
                mapping,
                "a mapping with two merge keys cannot be changed",
            ));
        };
        let budget = std::cell::Cell::new(MERGED);
        let entries = effective_entries(mapping, &budget)
            .map_err(|_| error(mapping, "merge keys bring in too much"))?;
        let mut parts = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.merged) {
            self.refuse_copy(mapping, entry.value)?;
            parts.push(self.copied_entry(mapping, entry)?);
        }
        let between = if mapping.style() == crate::yaml::Style::Flow {
            ", ".to_owned()
        } else {
            let eol = self.lines.eol(merge.span().start);
            format!("{eol}{}", " ".repeat(self.column(mapping)))
        };
        self.edit(merge.span().start, merge.span().end, parts.join(&between));
        Ok(())
    }

    fn copied_entry(&self, mapping: NodeRef<'t>, entry: Entry<'t>) -> Result<String, EditError> {
        let around = self.around(entry.key);
        if mapping.style() == crate::yaml::Style::Flow {
            let key = self.copy_flow(entry.key, around);
            return Ok(format!("{key}: {}", self.copy_flow(entry.value, around)));
        }
        let Some(key) = key_text(entry.key) else {
            return Err(error(entry.key, "a key that is no string cannot be copied"));
        };
        let key = super::quote::string(&key, entry.key.style(), super::quote::Around::Block);
        let owner = Owner::key(self.column(mapping));
        let text = self.copy(entry.value, owner, self.offset(mapping))?;
        let at = mapping.span().start;
        let writer = self.writer(mapping, at, self.follow(self.lines.end(at)));
        Ok(writer.behind_key(&key, text))
    }

    fn offset(&self, node: NodeRef<'t>) -> usize {
        let at = node.span().start;
        self.writer(node, at, self.follow(self.lines.end(at)))
            .offset
    }

    /// Refuses what contains itself or is too large.
    fn refuse_copy(&self, place: NodeRef<'t>, source: NodeRef<'t>) -> Result<(), EditError> {
        if source.span().contains(place.span()) {
            return Err(error(place, "the alias stands inside what it refers to"));
        }
        if source.span().len() > COPIED {
            return Err(error(
                place,
                "what the alias refers to is too large to write out",
            ));
        }
        Ok(())
    }
}

fn error(node: NodeRef<'_>, reason: &str) -> EditError {
    EditError {
        offset: node.span().start,
        reason: reason.to_owned(),
    }
}
