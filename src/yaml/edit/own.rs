//! Writes shared text where it is used: copies for aliases, entries for merge keys.

use std::cell::Cell;

use super::EditError;
use super::emit::{Emitter, children, in_flow, last_leaf};
use super::quote::Around;
use super::write::Owner;
use crate::yaml::merge::effective_entries;
use crate::yaml::tree::{Entry, Kind, NodeRef, Style};

/// Bytes of one document that may be written anew.
const COPIED: usize = 1 << 20;
/// Entries that merge keys may bring into one mapping.
const MERGED: usize = 10_000;

impl<'t> Emitter<'t> {
    /// Puts a copy of the anchored node in the place of an alias.
    pub(super) fn write_out(&mut self, alias: NodeRef<'t>) -> Result<(), EditError> {
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
        self.refuse_open_end(alias, target, self.lines.end(alias.span().end))?;
        let text = self.copy(target, slot.owner, self.offset(alias))?;
        self.place(alias, slot, &text);
        Ok(())
    }

    /// Writes an entry that a merge key brings in behind the entries of the mapping.
    pub(super) fn write_down(
        &mut self,
        mapping: NodeRef<'t>,
        entry: Entry<'t>,
    ) -> Result<(), EditError> {
        self.refuse_copy(mapping, entry.value)?;
        let children = children(mapping);
        let Some(last) = children.last() else {
            return Err(error(mapping, "a merge key is expected here"));
        };
        if mapping.style() == Style::Flow {
            let text = self.copied_entry(mapping, entry)?;
            self.insert_flow_parts(mapping, last, vec![text]);
            return Ok(());
        }
        self.seal(last.value);
        let at = self.lines.end(last.span().end);
        self.refuse_open_end(mapping, entry.value, at)?;
        let indent = " ".repeat(self.column(mapping));
        let text = self.copied_entry(mapping, entry)?;
        self.edit(at, at, format!("{}{indent}{text}", self.lines.eol(at)));
        Ok(())
    }

    /// Writes the entries that a merge key brings in where the merge key stands.
    pub(super) fn expand(&mut self, mapping: NodeRef<'t>) -> Result<(), EditError> {
        let mut merges = mapping.entries().filter(|entry| entry.key.is_merge_key());
        let (Some(merge), None) = (merges.next(), merges.next()) else {
            return Err(error(
                mapping,
                "a mapping with two merge keys cannot be changed",
            ));
        };
        let budget = Cell::new(MERGED);
        let entries = effective_entries(mapping, &budget)
            .map_err(|_| error(mapping, "merge keys bring in too much"))?;
        let mut parts = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.merged) {
            self.refuse_copy(mapping, entry.value)?;
            let end = self.lines.end(merge.span().end);
            self.refuse_open_end(mapping, entry.value, end)?;
            parts.push(self.copied_entry(mapping, entry)?);
        }
        let between = if mapping.style() == Style::Flow {
            ", ".to_owned()
        } else {
            let eol = self.lines.eol(merge.span().start);
            format!("{eol}{}", " ".repeat(self.column(mapping)))
        };
        let span = merge.span();
        let text = parts.join(&between);
        let in_flow = mapping.style() == Style::Flow;
        match text.split_once('\n').filter(|_| !in_flow) {
            // A comment behind the merge key stays in its line.
            Some((first, rest)) if !self.lines.rest_is_blank(span.end) => {
                let end = self.lines.end(span.end);
                let first = first.trim_end_matches('\r');
                self.edit(span.start, span.end, first);
                self.edit(end, end, format!("{}{rest}", self.lines.eol(end)));
            }
            _ => self.edit(span.start, span.end, text),
        }
        Ok(())
    }

    fn copied_entry(&self, mapping: NodeRef<'t>, entry: Entry<'t>) -> Result<String, EditError> {
        if mapping.style() == Style::Flow {
            let around = self.around_entries(mapping);
            let key = self.copy_flow(entry.key, around);
            return Ok(format!("{key}: {}", self.copy_flow(entry.value, around)));
        }
        if entry.key.kind() != Kind::Scalar {
            return Err(error(entry.key, "a key that is no string cannot be copied"));
        }
        let key = self.copy_flow(entry.key, Around::Block);
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

    /// Refuses a copy whose end is a block scalar that would take in what stands behind `at`.
    fn refuse_open_end(
        &self,
        place: NodeRef<'t>,
        source: NodeRef<'t>,
        at: usize,
    ) -> Result<(), EditError> {
        let leaf = last_leaf(source);
        let header = leaf
            .source()
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let is_block = matches!(leaf.style(), Style::Literal | Style::Folded);
        let follow = self.follow(at);
        let swallows = follow.comment.is_some() || header.contains('+');
        if is_block && (swallows || !(follow.terminated || header.contains('-'))) {
            let reason = "a block scalar at the end of what is shared cannot be copied here";
            return Err(error(place, reason));
        }
        Ok(())
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
