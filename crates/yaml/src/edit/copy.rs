//! Copies of the text of nodes, indented for another position.

use super::children::children;
use super::emitter::Emitter;
use super::quote::{ScalarContext, string};
use crate::edit::writer::{Text, ValueAnchor};
use crate::scalar::plain_is_string;
use crate::span::Span;
use crate::text_edit::{Edit, EditError, splice};
use crate::tree::{Kind, NodeRef, Style};

impl<'t> Emitter<'t> {
    /// Copies the text of a node, without anchors, for a position below `value_anchor`, where sequences are indented by
    /// `offset`.
    ///
    /// # Errors
    /// [`EditError`] for a block collection with a tag.
    pub(super) fn copy(
        &self,
        node: NodeRef<'t>,
        value_anchor: ValueAnchor,
        offset: usize,
    ) -> Result<Text, EditError> {
        if node.tag().is_some() && node.style() == Style::Block {
            return Err(EditError {
                offset: node.outer_span().start,
                reason: "cannot replace an alias by a copy of a collection with a tag".into(),
            });
        }
        let old = self.slot(node).map(|slot| slot.value_anchor);
        let column = old.map_or(0, |old| old.column);
        let text = self.without_anchors(node, node.span());
        let tag = node.tag().map(|tag| format!("{tag} ")).unwrap_or_default();
        Ok(match node.style() {
            Style::Empty => Text::Inline(format!("{tag}null")),
            Style::Literal | Style::Folded => {
                let text = shift(&text, column, value_anchor.column);
                let (header, body) = text.split_once('\n').unwrap_or((&text, ""));
                let header = header.split(char::is_whitespace).next().unwrap_or_default();
                Text::Literal {
                    header: format!("{tag}{header}"),
                    body: body.to_owned(),
                }
            }
            Style::Block => {
                let from = self.column(node);
                let to = self.copied_column(node, old, value_anchor, offset);
                Text::Lines {
                    column: to,
                    text: shift(&text, from, to),
                }
            }
            _ => Text::Inline(format!(
                "{tag}{}",
                shift(&text, column, value_anchor.column)
            )),
        })
    }

    /// Returns the column for a copied block collection.
    fn copied_column(
        &self,
        node: NodeRef<'t>,
        old: Option<ValueAnchor>,
        value_anchor: ValueAnchor,
        offset: usize,
    ) -> usize {
        let column = self.column(node);
        match (old, value_anchor.dash) {
            (_, Some(width)) => value_anchor.column + width,
            (Some(old), None) if old.dash.is_none() => {
                value_anchor.column + column.saturating_sub(old.column)
            }
            _ if node.kind() == Kind::Sequence => value_anchor.column + offset,
            _ => value_anchor.column + self.layout().step,
        }
    }

    /// Returns the text of `span` without the anchors of `node` and its descendants.
    fn without_anchors(&self, node: NodeRef<'t>, span: Span) -> String {
        let mut edits = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if let Some(anchor) = node.anchor_span().filter(|anchor| span.contains(*anchor)) {
                let rest = self.lines.rest(anchor.end);
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                let before = self.lines.slice(span.start, anchor.start);
                let alone = before.len() - before.trim_end_matches([' ', '\t']).len();
                let (start, end) = if rest.len() == blanks {
                    (anchor.start - alone, anchor.end)
                } else {
                    (anchor.start, anchor.end + blanks)
                };
                edits.push(Edit {
                    span: Span::new(start - span.start, end - span.start),
                    text: String::new(),
                });
            }
            if node.kind() != Kind::Alias {
                for child in children(node) {
                    stack.extend(child.key);
                    stack.push(child.value);
                }
            }
        }
        edits.sort_by_key(|edit| edit.span.start);
        splice(self.lines.slice(span.start, span.end), &edits)
    }

    /// Copies a node on one line, for a position in brackets; comments are dropped.
    pub(super) fn copy_flow(&self, node: NodeRef<'t>, context: ScalarContext) -> String {
        let tag = node.tag().map(|tag| format!("{tag} ")).unwrap_or_default();
        let enclose = |open: &str, parts: Vec<String>, close: &str| {
            format!("{tag}{open}{}{close}", parts.join(", "))
        };
        match node.kind() {
            Kind::Alias => node.source().to_owned(),
            Kind::Scalar => format!("{tag}{}", scalar_copy(node, context)),
            Kind::Sequence => {
                let items = node.items().map(|item| self.copy_flow(item, context));
                enclose("[", items.collect(), "]")
            }
            Kind::Mapping => {
                let entries = node.entries().map(|entry| {
                    let key = self.copy_flow(entry.key, context);
                    format!("{key}: {}", self.copy_flow(entry.value, context))
                });
                enclose("{", entries.collect(), "}")
            }
        }
    }
}

/// Copies a scalar on one line: unchanged if its notation is valid in brackets.
fn scalar_copy(node: NodeRef<'_>, context: ScalarContext) -> String {
    let text = node.text().unwrap_or_default();
    let source = node.source();
    let one_line = !source.contains('\n');
    match node.style() {
        Style::Empty => "null".to_owned(),
        // Numbers, booleans and merge keys stay plain.
        Style::Plain if !plain_is_string(text) || node.is_merge_key() => source.to_owned(),
        Style::DoubleQuoted if one_line => source.to_owned(),
        Style::SingleQuoted if one_line && context != ScalarContext::Json => source.to_owned(),
        style => string(text, style, context),
    }
}

/// Moves all lines but the first from column `from` to column `to`.
fn shift(text: &str, from: usize, to: usize) -> String {
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let drop = from.saturating_sub(to).min(blanks);
        if !line.trim_end_matches('\r').is_empty() {
            out.push_str(&" ".repeat(to.saturating_sub(from)));
        }
        out.push_str(line.get(drop..).unwrap_or_default());
    }
    out
}
