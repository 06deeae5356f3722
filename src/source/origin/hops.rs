//! The way from an object down to a field, in terms that hold in another text as well.

use crate::yaml::{Kind, NodeRef, Span};

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item {
        /// Its `name`, if it has one.
        name: Option<String>,
        /// Its number.
        index: usize,
        /// How many there are.
        of: usize,
    },
}

/// The way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hops {
    pub(super) steps: Vec<Hop>,
    pub(super) covers: Covers,
}

/// What of the last step is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covers {
    Key,
    Value,
    /// From the key to the end of the value.
    Entry,
}

/// The way to what `span` covers in `object`.
pub(super) fn to(object: NodeRef<'_>, span: Span) -> Option<Hops> {
    let mut steps = Vec::new();
    let mut node = object;
    let is = |node: NodeRef<'_>| node.span() == span || node.outer_span() == span;
    // An alias may lead up to where it stands.
    while !is(node) && node.kind() != Kind::Alias {
        if let Some(entry) = node.entries().find(|entry| entry.span().contains(span)) {
            steps.push(Hop::Key(entry.key.text()?.to_owned()));
            let covers = if entry.key.outer_span().contains(span) {
                Covers::Key
            } else if span.start < entry.value.outer_span().start {
                Covers::Entry
            } else {
                node = entry.value;
                continue;
            };
            return Some(Hops { steps, covers });
        }
        let mut items = node.items().enumerate();
        let Some((index, item)) = items.find(|(_, item)| item.outer_span().contains(span)) else {
            // Within a scalar, or between two fields.
            break;
        };
        steps.push(Hop::Item {
            name: name(item).map(str::to_owned),
            index,
            of: node.items().len(),
        });
        node = item;
    }
    let covers = Covers::Value;
    (!steps.is_empty()).then_some(Hops { steps, covers })
}

/// What tells an item of a list from the others.
pub(super) fn name(item: NodeRef<'_>) -> Option<&str> {
    item.get("name").and_then(NodeRef::text)
}
