//! The style of brackets: quotes, blanks, and whether parts have lines of their own.

use super::emit::{Child, Emitter, children};
use super::fate::Addition;
use super::quote::{Around, string};
use super::write::scalar;
use crate::yaml::change::Value;
use crate::yaml::tree::{NodeRef, Style};

/// How the surroundings write what stands in brackets.
#[derive(Clone, Debug)]
pub(super) struct FlowStyle {
    pub(super) around: Around,
    /// The quotes of strings.
    pub(super) quotes: Style,
    /// Blanks behind a `:`.
    colon: &'static str,
    /// Blanks behind a `,`.
    pub(super) comma: &'static str,
    /// Indentation of one level, where new collections take several lines.
    unit: Option<String>,
    pub(super) eol: &'static str,
}

impl FlowStyle {
    /// Writes a value; further lines start with `indent`.
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
            _ => scalar(value, self.quotes, self.around).unwrap_or_default(),
        }
    }

    fn entry(&self, key: &str, value: &Value, indent: &str) -> String {
        let key = string(key, Style::Plain, self.around);
        // A plain key needs the blank to be a key.
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
    /// Returns what a scalar beside or below `node` stands in.
    pub(super) fn around(&self, node: NodeRef<'t>) -> Around {
        let flow = |node: &NodeRef<'t>| node.style() == Style::Flow;
        let Some(nearest) = node.parent().filter(flow) else {
            return Around::Block;
        };
        let key = std::iter::successors(Some(nearest), |node| node.parent().filter(flow))
            .find_map(|node| node.entries().next())
            .map(|entry| entry.key.style());
        match key {
            Some(Style::DoubleQuoted) => Around::Json,
            _ => Around::Flow,
        }
    }

    /// Returns what the entries of a collection in brackets stand in.
    pub(super) fn around_entries(&self, node: NodeRef<'t>) -> Around {
        // A list in brackets has no keys of its own; those of its items tell.
        let own = node.entries().next();
        let key = own.or_else(|| node.items().find_map(|item| item.entries().next()));
        match key.map(|entry| entry.key.style()) {
            Some(Style::DoubleQuoted) => Around::Json,
            Some(_) => Around::Flow,
            None => match self.around(node) {
                Around::Block if node.style() == Style::Flow => Around::Flow,
                around => around,
            },
        }
    }

    /// Reads the style of a collection in brackets, or of the one around it while it is empty.
    pub(super) fn flow_style(&self, node: NodeRef<'t>, sibling: Option<&Child<'t>>) -> FlowStyle {
        let around = self.around_entries(node);
        let item = node.items().last().map(NodeRef::style);
        let unit =
            sibling.filter(|one| around == Around::Json && self.lines.leads(one.span().start));
        FlowStyle {
            around,
            quotes: item.unwrap_or(Style::Plain),
            colon: if self.is_tight_colon(node) { "" } else { " " },
            comma: if self.is_tight_comma(node) { "" } else { " " },
            unit: unit.map(|one| self.unit(node, one)),
            eol: self.lines.eol(node.span().start),
        }
    }

    fn is_tight_colon(&self, node: NodeRef<'t>) -> bool {
        let around = std::iter::successors(Some(node), |node| node.parent());
        let entry = around.flat_map(NodeRef::entries).next();
        entry.is_some_and(|entry| {
            entry.value.indicator() == Some(entry.value.outer_span().start)
                && entry.value.style() != Style::Empty
        })
    }

    fn is_tight_comma(&self, node: NodeRef<'t>) -> bool {
        let children = children(node);
        match (children.first(), children.get(1)) {
            (Some(one), Some(two)) => self.lines.slice(one.span().end, two.span().start) == ",",
            _ => self.is_tight_colon(node),
        }
    }

    /// Returns the indentation of one level: what `child` has more than its collection.
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
