//! Puts a new value in the place of a node.

use super::EditError;
use super::emit::{Emitter, in_flow};
use super::insert::Slot;
use super::quote::Around;
use super::write::{Follow, Owner, Text, scalar};
use crate::yaml::change::Value;
use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, NodeRef, Style};

/// How the old value stands to its key or dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    /// It is not written.
    Nothing,
    /// It starts in the line of the key or dash.
    Here,
    /// It is a single value or in brackets, in a later line.
    Below,
    /// It is a block collection that starts in a later line.
    BlockBelow,
    /// It is a block collection behind a dash.
    BlockHere,
}

impl<'t> Emitter<'t> {
    /// Replaces the value of `node`, its anchor stays.
    pub(super) fn put(&mut self, node: NodeRef<'t>, value: &Value) -> Result<(), EditError> {
        if in_flow(node) {
            self.put_flow(node, value);
            return Ok(());
        }
        let follow = self.follow_of(node);
        match self.slot(node) {
            Some(slot) => {
                let text = self.text(node, slot.owner, value, follow);
                self.place(node, slot, &text);
            }
            None if node.parent().is_none() => self.put_root(node, value, follow),
            None => {
                return Err(EditError {
                    offset: node.span().start,
                    reason: "a key without `:` has no place for a value".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn put_root(&mut self, node: NodeRef<'t>, value: &Value, follow: Follow) {
        let span = node.span();
        let column = self.lines.column(span.start);
        let owner = Owner {
            child: Some(column),
            ..Owner::key(column)
        };
        let text = match self.text(node, owner, value, follow) {
            Text::Inline(text) | Text::Lines { text, .. } => text,
            Text::Literal { header, body } => {
                format!("{header}{}{body}", self.lines.eol(span.end))
            }
        };
        self.edit(span.start, span.end, text);
    }

    /// Reads what stands behind a value.
    fn follow_of(&self, node: NodeRef<'t>) -> Follow {
        let end = node.span().end;
        let follow = self.follow(self.lines.end(end));
        if self.lines.rest_is_blank(end) {
            return follow;
        }
        Follow {
            comment: Some(usize::MAX),
            ..follow
        }
    }

    fn text(&self, node: NodeRef<'t>, owner: Owner, value: &Value, follow: Follow) -> Text {
        let old = self.old(node);
        // A comment behind the old value ends up behind the key or the header, or goes with it.
        let is_collection = matches!(value, Value::Map(_) | Value::Seq(_));
        let stays_above = matches!(old, Old::Nothing | Old::Here);
        let comment_moves = node.parent().is_some() && (stays_above || !is_collection);
        let follow = if comment_moves && follow.comment == Some(usize::MAX) {
            self.follow(self.lines.end(node.span().end))
        } else {
            follow
        };
        let writer = self.writer(node, node.span().end, follow);
        let block = matches!(node.style(), Style::Literal | Style::Folded);
        match value {
            Value::Str(text) if block && text.contains('\n') => writer.literal(text, owner),
            Value::Map(entries) if entries.is_empty() => Text::Inline("{}".to_owned()),
            Value::Seq(items) if items.is_empty() => Text::Inline("[]".to_owned()),
            Value::Map(_) | Value::Seq(_) => {
                let child = self.child_column(node, old, owner, value);
                writer.value(value, Owner { child, ..owner })
            }
            Value::Block(text) => writer.literal(text, owner),
            _ => Text::Inline(scalar(value, node.style(), Around::Block).unwrap_or_default()),
        }
    }

    /// The column for a new collection, where the old value fixes one.
    fn child_column(
        &self,
        node: NodeRef<'t>,
        old: Old,
        owner: Owner,
        value: &Value,
    ) -> Option<usize> {
        let column = self.lines.column(node.span().start);
        let is_map = matches!(value, Value::Map(_));
        match old {
            Old::Nothing | Old::Here => owner.child,
            Old::BlockHere => Some(column),
            Old::Below => Some(column).filter(|&column| column > owner.column),
            Old::BlockBelow => {
                let same_kind = is_map == (node.kind() == Kind::Mapping);
                let fits = same_kind || (is_map && column > owner.column);
                Some(self.column(node)).filter(|_| fits)
            }
        }
    }

    fn old(&self, node: NodeRef<'t>) -> Old {
        let Some(slot) = self.slot(node) else {
            return Old::Here;
        };
        let below = self.lines.start(node.span().start) > slot.head;
        match (node.style(), below) {
            (Style::Empty, _) => Old::Nothing,
            (Style::Block, true) => Old::BlockBelow,
            (Style::Block, false) => Old::BlockHere,
            (_, true) => Old::Below,
            (_, false) => Old::Here,
        }
    }

    pub(super) fn place(&mut self, node: NodeRef<'t>, slot: Slot, text: &Text) {
        let old = self.old(node);
        let before = self.edit_count();
        match text {
            Text::Inline(text) => self.place_inline(node, slot, old, text),
            Text::Literal { header, body } => self.place_literal(node, slot, old, header, body),
            Text::Lines { column, text } => self.place_lines(node, slot, old, *column, text),
        }
        if let Some(tag) = node.tag_span()
            && !self.edits_since(before).any(|span| span.contains(tag))
        {
            self.drop_tag(tag, slot);
        }
    }

    /// A tag would give the new value another type.
    fn drop_tag(&mut self, tag: Span, slot: Slot) {
        let behind = self.lines.rest(tag.end);
        let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        let last =
            behind.len() == blanks || behind.trim_start_matches([' ', '\t']).starts_with('#');
        if last && tag.start > slot.head {
            let before = self.lines.slice(slot.head, tag.start);
            let kept = before.trim_end_matches([' ', '\t']).len();
            self.edit(slot.head + kept, tag.end, "");
        } else {
            self.edit(tag.start, tag.end + blanks, "");
        }
    }

    fn place_inline(&mut self, node: NodeRef<'t>, slot: Slot, old: Old, text: &str) {
        let span = node.span();
        match old {
            Old::Nothing => self.edit(slot.head, slot.head, format!(" {text}")),
            _ if matches!(node.style(), Style::Literal | Style::Folded) => {
                // The comment of the header stays in its line.
                let line = node.source().split(['\n', '\r']).next().unwrap_or_default();
                let word = line.split([' ', '\t']).next().unwrap_or_default();
                self.edit(span.start, span.start + word.len(), text);
                let kept = span.start + line.trim_end_matches([' ', '\t']).len();
                self.edit(kept, span.end, "");
            }
            Old::Here | Old::Below | Old::BlockHere => self.edit(span.start, span.end, text),
            Old::BlockBelow => {
                self.edit(slot.head, slot.head, format!(" {text}"));
                self.cut_lines(span.start, span.end);
            }
        }
    }

    fn place_literal(&mut self, node: NodeRef<'t>, slot: Slot, old: Old, header: &str, body: &str) {
        let span = node.span();
        let eol = self.lines.eol(span.end);
        let body = format!("{eol}{body}");
        let end = self.lines.end(span.end);
        match old {
            Old::Nothing => {
                self.edit(slot.head, slot.head, format!(" {header}"));
                self.edit(end, end, body);
            }
            Old::Here | Old::Below if matches!(node.style(), Style::Literal | Style::Folded) => {
                let line = node.source().split(['\n', '\r']).next().unwrap_or_default();
                let word = line.split([' ', '\t']).next().unwrap_or_default();
                self.edit(span.start, span.start + word.len(), header);
                self.edit(span.start + line.len(), span.end, body);
            }
            Old::Here | Old::Below => {
                self.edit(span.start, span.end, header);
                self.edit(end, end, body);
            }
            Old::BlockHere => self.edit(span.start, end, format!("{header}{body}")),
            Old::BlockBelow => {
                self.edit(slot.head, slot.head, format!(" {header}"));
                self.edit(self.lines.end(slot.head), end, body);
            }
        }
    }

    fn place_lines(&mut self, node: NodeRef<'t>, slot: Slot, old: Old, column: usize, text: &str) {
        let span = node.span();
        let end = self.lines.end(span.end);
        let own_lines = format!("{}{}{text}", self.lines.eol(span.end), " ".repeat(column));
        let no_comment = self.lines.rest_is_blank(span.end);
        // Behind an anchor a block collection must start in a line of its own.
        let inline = no_comment && node.anchor_span().is_none();
        match (old, slot.owner.dash) {
            (Old::Nothing, Some(width)) if inline => {
                let pad = " ".repeat(width.saturating_sub(1).max(1));
                self.edit(slot.head, end, format!("{pad}{text}"));
            }
            (Old::Here, Some(_)) if inline => self.edit(span.start, span.end, text),
            (Old::Nothing | Old::Here, _) if no_comment => self.edit(slot.head, end, own_lines),
            (Old::Nothing, _) => self.edit(end, end, own_lines),
            (Old::Here, _) => {
                // A dash needs a blank behind it, not a tab.
                let rest = self.lines.rest(span.end);
                let tabs = rest.len() - rest.trim_start_matches('\t').len();
                let tabs = slot.owner.dash.map_or(0, |_| tabs);
                let blank = if tabs > 0 { " " } else { "" };
                self.edit(slot.head, span.end + tabs, blank);
                self.edit(end, end, own_lines);
            }
            (Old::Below | Old::BlockHere, _) => self.edit(span.start, span.end, text),
            (Old::BlockBelow, _) => {
                let start = self.lines.start(span.start);
                self.edit(start, span.end, format!("{}{text}", " ".repeat(column)));
            }
        }
    }
}
