//! Replaces the values of nodes.

use super::emit::{Emitter, in_flow};
use super::insert::Slot;
use super::writer::{ScalarContext, Text, TextAfter, ValueAnchor, scalar};
use crate::change::Value;
use crate::span::{EditError, Span};
use crate::tree::{Kind, NodeRef, Style};

/// Position of the old value relative to its key or dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldValue {
    /// It has no text.
    Empty,
    /// It starts on the line of the key or dash.
    SameLine,
    /// It is a single value or in brackets, on a later line.
    Below,
    /// It is a block collection that starts on a later line.
    BlockBelow,
    /// It is a block collection on the line of a dash.
    BlockSameLine,
}

impl<'t> Emitter<'t> {
    /// Replaces the value of `node`, and keeps its anchor.
    ///
    /// # Errors
    /// [`EditError`] for a key without a `:`.
    pub(super) fn replace_value(
        &mut self,
        node: NodeRef<'t>,
        value: &Value,
    ) -> Result<(), EditError> {
        if in_flow(node) {
            self.replace_flow_value(node, value);
            return Ok(());
        }
        let text_after = self.text_after_value(node);
        match self.slot(node) {
            Some(slot) => {
                let text = self.text(node, slot.value_anchor, value, text_after);
                self.write_text(node, slot, &text);
            }
            None if node.parent().is_none() => self.replace_root(node, value, text_after),
            None => {
                return Err(EditError {
                    offset: node.span().start,
                    reason: "cannot set the value of a key without `:`".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn replace_root(&mut self, node: NodeRef<'t>, value: &Value, text_after: TextAfter) {
        let span = node.span();
        let column = self.lines.column(span.start);
        let value_anchor = ValueAnchor {
            child: Some(column),
            ..ValueAnchor::key(column)
        };
        let text = match self.text(node, value_anchor, value, text_after) {
            Text::Inline(text) | Text::Lines { text, .. } => text,
            Text::Literal { header, body } => {
                format!("{header}{}{body}", self.lines.eol(span.end))
            }
        };
        self.edit(span.start, span.end, text);
    }

    /// Returns the context after a value.
    fn text_after_value(&self, node: NodeRef<'t>) -> TextAfter {
        let end = node.span().end;
        let text_after = self.text_after(self.lines.end(end));
        if self.lines.rest_is_blank(end) {
            return text_after;
        }
        TextAfter {
            comment: Some(usize::MAX),
            ..text_after
        }
    }

    fn text(
        &self,
        node: NodeRef<'t>,
        value_anchor: ValueAnchor,
        value: &Value,
        text_after: TextAfter,
    ) -> Text {
        let old = self.old_value(node);
        // A comment after the old value moves to the line of the key or the header, or is removed with it.
        let is_collection = matches!(value, Value::Map(_) | Value::Seq(_));
        let stays_above = matches!(old, OldValue::Empty | OldValue::SameLine);
        let comment_moves = node.parent().is_some() && (stays_above || !is_collection);
        let text_after = if comment_moves && text_after.comment == Some(usize::MAX) {
            self.text_after(self.lines.end(node.span().end))
        } else {
            text_after
        };
        let writer = self.writer(node, node.span().end, text_after);
        let block = matches!(node.style(), Style::Literal | Style::Folded);
        match value {
            Value::Str(text) if block && text.contains('\n') => writer.literal(text, value_anchor),
            Value::Map(entries) if entries.is_empty() => Text::Inline("{}".to_owned()),
            Value::Seq(items) if items.is_empty() => Text::Inline("[]".to_owned()),
            Value::Map(_) | Value::Seq(_) => {
                let child = self.child_column(node, old, value_anchor, value);
                writer.value(
                    value,
                    ValueAnchor {
                        child,
                        ..value_anchor
                    },
                )
            }
            Value::Block(text) => writer.literal(text, value_anchor),
            _ => {
                Text::Inline(scalar(value, node.style(), ScalarContext::Block).unwrap_or_default())
            }
        }
    }

    /// Returns the column for a new collection, if the old value determines one.
    fn child_column(
        &self,
        node: NodeRef<'t>,
        old: OldValue,
        value_anchor: ValueAnchor,
        value: &Value,
    ) -> Option<usize> {
        let column = self.lines.column(node.span().start);
        let is_map = matches!(value, Value::Map(_));
        match old {
            OldValue::Empty | OldValue::SameLine => value_anchor.child,
            OldValue::BlockSameLine => Some(column),
            OldValue::Below => Some(column).filter(|&column| column > value_anchor.column),
            OldValue::BlockBelow => {
                let same_kind = is_map == (node.kind() == Kind::Mapping);
                let fits = same_kind || (is_map && column > value_anchor.column);
                Some(self.column(node)).filter(|_| fits)
            }
        }
    }

    fn old_value(&self, node: NodeRef<'t>) -> OldValue {
        let Some(slot) = self.slot(node) else {
            return OldValue::SameLine;
        };
        let below = self.lines.start(node.span().start) > slot.end_of_indicator;
        match (node.style(), below) {
            (Style::Empty, _) => OldValue::Empty,
            (Style::Block, true) => OldValue::BlockBelow,
            (Style::Block, false) => OldValue::BlockSameLine,
            (_, true) => OldValue::Below,
            (_, false) => OldValue::SameLine,
        }
    }

    pub(super) fn write_text(&mut self, node: NodeRef<'t>, slot: Slot, text: &Text) {
        let old = self.old_value(node);
        let before = self.edit_count();
        match text {
            Text::Inline(text) => self.write_inline(node, slot, old, text),
            Text::Literal { header, body } => self.write_literal(node, slot, old, header, body),
            Text::Lines { column, text } => self.write_lines(node, slot, old, *column, text),
        }
        if let Some(tag) = node.tag_span()
            && !self.edits_since(before).any(|span| span.contains(tag))
        {
            self.drop_tag(tag, slot);
        }
    }

    /// Removes a tag, which would change the type of the new value.
    fn drop_tag(&mut self, tag: Span, slot: Slot) {
        let rest = self.lines.rest(tag.end);
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let last = rest.len() == blanks || rest.trim_start_matches([' ', '\t']).starts_with('#');
        if last && tag.start > slot.end_of_indicator {
            let before = self.lines.slice(slot.end_of_indicator, tag.start);
            let kept = before.trim_end_matches([' ', '\t']).len();
            self.edit(slot.end_of_indicator + kept, tag.end, "");
        } else {
            self.edit(tag.start, tag.end + blanks, "");
        }
    }

    fn write_inline(&mut self, node: NodeRef<'t>, slot: Slot, old: OldValue, text: &str) {
        let span = node.span();
        match old {
            OldValue::Empty => self.edit(
                slot.end_of_indicator,
                slot.end_of_indicator,
                format!(" {text}"),
            ),
            _ if matches!(node.style(), Style::Literal | Style::Folded) => {
                // The comment of the header stays on its line.
                let line = node.source().split(['\n', '\r']).next().unwrap_or_default();
                let word = line.split([' ', '\t']).next().unwrap_or_default();
                self.edit(span.start, span.start + word.len(), text);
                let kept = span.start + line.trim_end_matches([' ', '\t']).len();
                self.edit(kept, span.end, "");
            }
            OldValue::SameLine | OldValue::Below | OldValue::BlockSameLine => {
                self.edit(span.start, span.end, text)
            }
            OldValue::BlockBelow => {
                self.edit(
                    slot.end_of_indicator,
                    slot.end_of_indicator,
                    format!(" {text}"),
                );
                self.cut_lines(span.start, span.end);
            }
        }
    }

    fn write_literal(
        &mut self,
        node: NodeRef<'t>,
        slot: Slot,
        old: OldValue,
        header: &str,
        body: &str,
    ) {
        let span = node.span();
        let eol = self.lines.eol(span.end);
        let body = format!("{eol}{body}");
        let end = self.lines.end(span.end);
        match old {
            OldValue::Empty => {
                self.edit(
                    slot.end_of_indicator,
                    slot.end_of_indicator,
                    format!(" {header}"),
                );
                self.edit(end, end, body);
            }
            OldValue::SameLine | OldValue::Below
                if matches!(node.style(), Style::Literal | Style::Folded) =>
            {
                let line = node.source().split(['\n', '\r']).next().unwrap_or_default();
                let word = line.split([' ', '\t']).next().unwrap_or_default();
                self.edit(span.start, span.start + word.len(), header);
                self.edit(span.start + line.len(), span.end, body);
            }
            OldValue::SameLine | OldValue::Below => {
                self.edit(span.start, span.end, header);
                self.edit(end, end, body);
            }
            OldValue::BlockSameLine => self.edit(span.start, end, format!("{header}{body}")),
            OldValue::BlockBelow => {
                self.edit(
                    slot.end_of_indicator,
                    slot.end_of_indicator,
                    format!(" {header}"),
                );
                self.edit(self.lines.end(slot.end_of_indicator), end, body);
            }
        }
    }

    fn write_lines(
        &mut self,
        node: NodeRef<'t>,
        slot: Slot,
        old: OldValue,
        column: usize,
        text: &str,
    ) {
        let span = node.span();
        let end = self.lines.end(span.end);
        let own_lines = format!("{}{}{text}", self.lines.eol(span.end), " ".repeat(column));
        let no_comment = self.lines.rest_is_blank(span.end);
        // After an anchor, a block collection must start on a line of its own.
        let inline = no_comment && node.anchor_span().is_none();
        match (old, slot.value_anchor.dash) {
            (OldValue::Empty, Some(width)) if inline => {
                let pad = " ".repeat(width.saturating_sub(1).max(1));
                self.edit(slot.end_of_indicator, end, format!("{pad}{text}"));
            }
            (OldValue::SameLine, Some(_)) if inline => self.edit(span.start, span.end, text),
            (OldValue::Empty | OldValue::SameLine, _) if no_comment => {
                self.edit(slot.end_of_indicator, end, own_lines)
            }
            (OldValue::Empty, _) => self.edit(end, end, own_lines),
            (OldValue::SameLine, _) => {
                // A dash must be followed by a blank, not by a tab.
                let rest = self.lines.rest(span.end);
                let tabs = rest.len() - rest.trim_start_matches('\t').len();
                let tabs = slot.value_anchor.dash.map_or(0, |_| tabs);
                let blank = if tabs > 0 { " " } else { "" };
                self.edit(slot.end_of_indicator, span.end + tabs, blank);
                self.edit(end, end, own_lines);
            }
            (OldValue::Below | OldValue::BlockSameLine, _) => self.edit(span.start, span.end, text),
            (OldValue::BlockBelow, _) => {
                let start = self.lines.start(span.start);
                self.edit(start, span.end, format!("{}{text}", " ".repeat(column)));
            }
        }
    }
}
