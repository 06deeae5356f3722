//! Expands shared text where it is used: replaces aliases by copies, and merge keys by entries.

use std::cell::Cell;

use crate::edit::children::{children, in_flow, last_leaf};
use crate::edit::emitter::Emitter;
use crate::edit::quote::ScalarContext;
use crate::edit::writer::ValueAnchor;
use crate::merge::effective_entries;
use crate::text_edit::EditError;
use crate::tree::{Entry, Kind, NodeRef, Style};

/// Limit on the bytes of a value that is copied.
const MAX_COPIED: usize = 1 << 20;
/// Limit on the entries that merge keys may add to one mapping.
const MAX_MERGED: usize = 10_000;

impl<'t> Emitter<'t> {
    /// Replaces an alias by a copy of the anchored node.
    pub(super) fn expand_alias(&mut self, alias: NodeRef<'t>) -> Result<(), EditError> {
        let target = alias.resolved();
        self.refuse_copy(alias, target)?;
        if in_flow(alias) {
            let text = self.copy_flow(target, self.context(alias));
            self.edit(alias.span().start, alias.span().end, text);
            return Ok(());
        }
        let Some(slot) = self.slot(alias) else {
            return Err(error(alias, "cannot expand an alias that is a key"));
        };
        self.refuse_open_end(alias, target, self.lines.end(alias.span().end))?;
        let text = self.copy(target, slot.value_anchor, self.offset(alias))?;
        self.write_text(alias, slot, &text);
        Ok(())
    }

    /// Writes an entry of a merge key into the mapping, after the mapping's own entries.
    pub(super) fn write_merged_entry(
        &mut self,
        mapping: NodeRef<'t>,
        entry: Entry<'t>,
    ) -> Result<(), EditError> {
        self.refuse_copy(mapping, entry.value)?;
        let children = children(mapping);
        let Some(last) = children.last() else {
            return Err(error(mapping, "expected a merge key"));
        };
        if mapping.style() == Style::Flow {
            let text = self.copied_entry(mapping, entry)?;
            self.insert_flow_parts(mapping, last, vec![text]);
            return Ok(());
        }
        self.guard_scalar_end(last.value);
        let at = self.lines.end(last.span().end);
        self.refuse_open_end(mapping, entry.value, at)?;
        let indent = " ".repeat(self.column(mapping));
        let text = self.copied_entry(mapping, entry)?;
        self.edit(at, at, format!("{}{indent}{text}", self.lines.eol(at)));
        Ok(())
    }

    /// Replaces a merge key by the entries that it adds.
    pub(super) fn expand_merge_key(&mut self, mapping: NodeRef<'t>) -> Result<(), EditError> {
        let mut merges = mapping.entries().filter(|entry| entry.key.is_merge_key());
        let (Some(merge), None) = (merges.next(), merges.next()) else {
            return Err(error(
                mapping,
                "cannot change a mapping with two merge keys",
            ));
        };
        let budget = Cell::new(MAX_MERGED);
        let entries = effective_entries(mapping, &budget)
            .map_err(|_| error(mapping, "the merge keys add too many entries"))?;
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
            // A comment after the merge key stays on its line.
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
            let context = self.entry_context(mapping);
            let key = self.copy_flow(entry.key, context);
            return Ok(format!("{key}: {}", self.copy_flow(entry.value, context)));
        }
        if entry.key.kind() != Kind::Scalar {
            return Err(error(entry.key, "cannot copy a key that is not a string"));
        }
        let key = self.copy_flow(entry.key, ScalarContext::Block);
        let value_anchor = ValueAnchor::key(self.column(mapping));
        let text = self.copy(entry.value, value_anchor, self.offset(mapping))?;
        let at = mapping.span().start;
        let writer = self.writer(mapping, at, self.text_after(self.lines.end(at)));
        Ok(writer.after_key(&key, text))
    }

    fn offset(&self, node: NodeRef<'t>) -> usize {
        let at = node.span().start;
        self.writer(node, at, self.text_after(self.lines.end(at)))
            .offset
    }

    /// Rejects a copy that ends with a block scalar if the text after `at` would become part of that scalar.
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
        let text_after = self.text_after(at);
        let would_grow = text_after.comment.is_some() || header.contains('+');
        if is_block && (would_grow || !(text_after.terminated || header.contains('-'))) {
            let reason =
                "cannot copy the shared value to this position: it ends with a block scalar";
            return Err(error(place, reason));
        }
        Ok(())
    }

    /// Rejects a copy of a value that contains the position of the copy, or that is too large.
    fn refuse_copy(&self, place: NodeRef<'t>, source: NodeRef<'t>) -> Result<(), EditError> {
        if source.span().contains(place.span()) {
            return Err(error(
                place,
                "the alias is inside the value that it refers to",
            ));
        }
        if source.span().len() > MAX_COPIED {
            return Err(error(
                place,
                "the value that the alias refers to is too large to copy",
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
