//! The style of brackets: quotes, blanks and line breaks.

use super::children::{Child, children};
use super::emitter::Emitter;
use super::quote::{ScalarContext, string};
use crate::change::Value;
use crate::edit::node_plan::Addition;
use crate::edit::writer::scalar;
use crate::tree::{NodeRef, Style};

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
