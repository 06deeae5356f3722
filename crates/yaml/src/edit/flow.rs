//! Edits in brackets: flow mappings, flow sequences and JSON.
//!
//! The style of brackets: quotes, blanks and line breaks.

use super::emit::{Child, Emitter, children};
use super::node_plan::{Addition, InsertPosition};
use super::writer::{ScalarContext, scalar, string};
use crate::change::Value;
use crate::tree::{Kind, NodeRef, Style};

impl<'t> Emitter<'t> {
    /// Replaces a value in brackets.
    pub(super) fn replace_flow_value(&mut self, node: NodeRef<'t>, value: &Value) {
        let Some(parent) = node.parent() else { return };
        let siblings = children(parent);
        let own = siblings.iter().find(|child| child.value == node);
        let style = self.flow_style(parent, own);
        let span = node.outer_span();
        let indent = self.lines.indentation(span.start);
        let text = match scalar(value, node.style(), style.context) {
            Some(text) => text,
            None => style.write(value, indent),
        };
        let start = node.anchor_span().map_or(span.start, |anchor| anchor.end);
        let is_key_only = parent.kind() == Kind::Mapping && node.indicator().is_none();
        let text = match (node.style(), is_key_only) {
            (Style::Empty, true) => format!(": {text}"),
            (Style::Empty, false) => format!(" {text}"),
            _ if start > span.start => format!(" {text}"),
            _ => text,
        };
        self.edit(start, span.end, text);
    }

    pub(super) fn insert_flow(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        position: InsertPosition,
        added: &[Addition],
    ) {
        let index = match position {
            InsertPosition::First => 0,
            InsertPosition::After(index) => index,
        };
        let Some(sibling) = children.get(index) else {
            return;
        };
        let style = self.flow_style(node, Some(sibling));
        let start = self.flow_start(node, children, index);
        let indent = self.lines.indentation(start);
        let parts: Vec<_> = added
            .iter()
            .map(|addition| style.addition(addition, indent))
            .collect();
        if position == InsertPosition::First {
            let between = self.between(&style, start);
            let text = parts.join(&between);
            self.edit(start, start, format!("{text}{between}"));
        } else {
            self.insert_flow_parts(node, sibling, parts);
        }
    }

    /// Returns the start of a child in brackets: its `?` if it has one.
    fn flow_start(&self, node: NodeRef<'t>, children: &[Child<'t>], index: usize) -> usize {
        let before = index.checked_sub(1).and_then(|before| children.get(before));
        let end = before.map_or(node.span().start, |before| before.span().end);
        let Some(child) = children.get(index) else {
            return end;
        };
        let start = child.span().start;
        let mut at = self.lines.skip_trivia(end);
        if matches!(self.lines.byte(at), Some(b'{' | b',' | b'[')) {
            at = self.lines.skip_trivia(at + 1);
        }
        let is_explicit = at < start && self.lines.byte(at) == Some(b'?');
        if is_explicit { at } else { start }
    }

    /// Returns the text to write between two children, as around the child that starts at `start`.
    fn between(&self, style: &FlowStyle, start: usize) -> String {
        if self.lines.is_line_start(start) {
            format!(",{}{}", style.eol, self.lines.indentation(start))
        } else {
            format!(",{}", style.comma)
        }
    }

    /// Inserts `parts`, the texts of entries or items, after `sibling`.
    pub(super) fn insert_flow_parts(
        &mut self,
        node: NodeRef<'t>,
        sibling: &Child<'t>,
        parts: Vec<String>,
    ) {
        let style = self.flow_style(node, Some(sibling));
        let children = children(node);
        let index = children
            .iter()
            .position(|child| child.value == sibling.value);
        let start = self.flow_start(node, &children, index.unwrap_or_default());
        let between = self.between(&style, start);
        let text = parts.join(&between);
        let end = sibling.span().end;
        let is_open = sibling.value.indicator() == Some(end) && sibling.key.is_some();
        if is_open {
            // Some parsers do not read `a:,` as a key.
            self.edit(end, end, " ");
        }
        if self.lines.is_line_start(start) {
            self.insert_flow_lines(end, &text, &between);
        } else {
            self.edit(end, end, format!("{between}{text}"));
        }
    }

    /// Inserts lines after the child that ends at `end`; `between` is a comma and a new line.
    fn insert_flow_lines(&mut self, end: usize, text: &str, between: &str) {
        let line_break = between.strip_prefix(',').unwrap_or_default();
        let comma = self.comma(end);
        let line_end = self.lines.end(comma.unwrap_or(end));
        let rest_of = |at: usize| self.lines.rest(at).trim_start_matches([' ', '\t']);
        let ends_line = |at: usize| rest_of(at).is_empty() || rest_of(at).starts_with('#');
        if let Some(comma) = comma {
            let after = comma + 1;
            let at = if ends_line(after) { line_end } else { after };
            self.edit(at, at, format!("{line_break}{text},"));
        } else if rest_of(end).starts_with('#') {
            self.edit(end, end, ",");
            self.edit(line_end, line_end, format!("{line_break}{text}"));
        } else {
            self.edit(end, end, format!("{between}{text}"));
        }
    }

    /// Removes children in brackets, but never all of them.
    pub(super) fn remove_flow(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        removed: &[usize],
    ) {
        let is_removed = |index: usize| removed.binary_search(&index).is_ok();
        let last_kept = (0..children.len()).rfind(|&index| !is_removed(index));
        let kept_end = last_kept
            .and_then(|index| children.get(index))
            .map(|kept| kept.span().end);
        let last_end = children.last().map(|last| last.span().end);
        // One edit removes all text after the last child that is kept, unless there is a comment between them.
        let tail = match (kept_end, last_end) {
            (Some(start), Some(end)) if start < end && !self.contains_comment(start, children) => {
                self.edit(start, end, "");
                last_kept
            }
            _ => None,
        };
        for &index in removed {
            let Some(child) = children.get(index) else {
                continue;
            };
            if tail.is_some_and(|kept| index > kept) {
                continue;
            }
            let (start, end) = (self.flow_start(node, children, index), child.span().end);
            let comma = self.comma(end);
            self.remove_flow_part(start, comma.map_or(end, |comma| comma + 1));
            if comma.is_none()
                && let Some(spare) = kept_end.and_then(|end| self.comma(end))
            {
                self.edit(spare, spare + 1, "");
            }
        }
    }

    /// Returns the offset of the comma after the child that ends at `end`.
    fn comma(&self, end: usize) -> Option<usize> {
        let at = self.lines.skip_trivia(end);
        (self.lines.byte(at) == Some(b',')).then_some(at)
    }

    /// Returns whether there is a comment between the children after `start`.
    fn contains_comment(&self, start: usize, children: &[Child<'t>]) -> bool {
        let mut at = start;
        for span in children
            .iter()
            .map(Child::span)
            .filter(|span| span.start >= start)
        {
            if self.lines.slice(at, span.start).contains('#') {
                return true;
            }
            at = span.end;
        }
        false
    }

    /// Removes one child with its comma, and its line if that contains nothing else.
    fn remove_flow_part(&mut self, start: usize, end: usize) {
        let rest = self.lines.rest(end);
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let ends_line =
            rest.len() == blanks || rest.trim_start_matches([' ', '\t']).starts_with('#');
        if ends_line && self.lines.is_line_start(start) {
            self.edit(self.lines.start(start), self.lines.next(end), "");
        } else if ends_line {
            self.edit(start, end, "");
        } else {
            self.edit(start, end + blanks, "");
        }
    }
}

/// Style of the text in brackets, taken from the surrounding text.
#[derive(Clone, Debug)]
pub(super) struct FlowStyle {
    pub(super) context: ScalarContext,
    /// The quotes of strings.
    pub(super) quotes: Style,
    /// Blanks after a `:`.
    colon: &'static str,
    /// Blanks after a `,`.
    pub(super) comma: &'static str,
    /// Indentation of one level, if new collections take several lines.
    unit: Option<String>,
    pub(super) eol: &'static str,
}

impl FlowStyle {
    /// Writes a value; all lines after the first start with `indent`.
    pub(super) fn write(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Map(entries) if !entries.is_empty() => {
                let inner = self.inner(indent);
                let entries = entries
                    .iter()
                    .map(|(key, value)| self.entry(key, value, &inner));
                self.bracketed("{", entries.collect(), "}", indent)
            }
            Value::Seq(items) if !items.is_empty() => {
                let inner = self.inner(indent);
                let items = items.iter().map(|item| self.write(item, &inner));
                self.bracketed("[", items.collect(), "]", indent)
            }
            _ => scalar(value, self.quotes, self.context).unwrap_or_default(),
        }
    }

    fn entry(&self, key: &str, value: &Value, indent: &str) -> String {
        let key = string(key, Style::Plain, self.context);
        // After a plain key the blank is required.
        let blank = if key.starts_with('"') {
            self.colon
        } else {
            " "
        };
        format!("{key}:{blank}{}", self.write(value, indent))
    }

    fn inner(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit.as_deref().unwrap_or_default())
    }

    fn bracketed(&self, open: &str, parts: Vec<String>, close: &str, indent: &str) -> String {
        if self.unit.is_none() {
            return format!("{open}{}{close}", parts.join(&format!(",{}", self.comma)));
        }
        let eol = self.eol;
        let inner = self.inner(indent);
        let parts = parts.join(&format!(",{eol}{inner}"));
        format!("{open}{eol}{inner}{parts}{eol}{indent}{close}")
    }

    pub(super) fn addition(&self, addition: &Addition, indent: &str) -> String {
        match &addition.key {
            Some(key) => self.entry(key, &addition.value, indent),
            None => self.write(&addition.value, indent),
        }
    }
}

impl<'t> Emitter<'t> {
    /// Returns the context of a scalar next to or below `node`.
    pub(super) fn context(&self, node: NodeRef<'t>) -> ScalarContext {
        let flow = |node: &NodeRef<'t>| node.style() == Style::Flow;
        let Some(nearest) = node.parent().filter(flow) else {
            return ScalarContext::Block;
        };
        let key = std::iter::successors(Some(nearest), |node| node.parent().filter(flow))
            .find_map(|node| node.entries().next())
            .map(|entry| entry.key.style());
        match key {
            Some(Style::DoubleQuoted) => ScalarContext::Json,
            _ => ScalarContext::Flow,
        }
    }

    /// Returns the context of the entries of a collection in brackets.
    pub(super) fn entry_context(&self, node: NodeRef<'t>) -> ScalarContext {
        // A list in brackets has no keys of its own; the keys of its items decide.
        let own = node.entries().next();
        let key = own.or_else(|| node.items().find_map(|item| item.entries().next()));
        match key.map(|entry| entry.key.style()) {
            Some(Style::DoubleQuoted) => ScalarContext::Json,
            Some(_) => ScalarContext::Flow,
            None => match self.context(node) {
                ScalarContext::Block if node.style() == Style::Flow => ScalarContext::Flow,
                context => context,
            },
        }
    }

    /// Returns the style of a collection in brackets, or of its parent if it is empty.
    pub(super) fn flow_style(&self, node: NodeRef<'t>, sibling: Option<&Child<'t>>) -> FlowStyle {
        let context = self.entry_context(node);
        let item = node.items().last().map(NodeRef::style);
        let unit = sibling.filter(|child| {
            context == ScalarContext::Json && self.lines.is_line_start(child.span().start)
        });
        FlowStyle {
            context,
            quotes: item.unwrap_or(Style::Plain),
            colon: if self.is_tight_colon(node) { "" } else { " " },
            comma: if self.is_tight_comma(node) { "" } else { " " },
            unit: unit.map(|child| self.unit(node, child)),
            eol: self.lines.eol(node.span().start),
        }
    }

    fn is_tight_colon(&self, node: NodeRef<'t>) -> bool {
        let ancestors = std::iter::successors(Some(node), |node| node.parent());
        let entry = ancestors.flat_map(NodeRef::entries).next();
        entry.is_some_and(|entry| {
            entry.value.indicator() == Some(entry.value.outer_span().start)
                && entry.value.style() != Style::Empty
        })
    }

    fn is_tight_comma(&self, node: NodeRef<'t>) -> bool {
        let children = children(node);
        match (children.first(), children.get(1)) {
            (Some(first), Some(second)) => {
                self.lines.slice(first.span().end, second.span().start) == ","
            }
            _ => self.is_tight_colon(node),
        }
    }

    /// Returns the indentation of one level: the indentation of `child` without that of its collection.
    fn unit(&self, node: NodeRef<'t>, child: &Child<'t>) -> String {
        let inner = self.lines.indentation(child.span().start);
        let outer = self.lines.indentation(node.span().start);
        inner
            .strip_prefix(outer)
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ")
            .to_owned()
    }
}
