//! The way from an object down to a field, in terms that hold in another text as well.

use crate::yaml::{Kind, NodeRef, Span};

use super::objects::last_around;

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hop<'t> {
    /// The value of a key.
    Key(&'t str),
    /// An item of a list.
    Item {
        /// Its `name`, if it has one.
        name: Option<&'t str>,
        /// Its number.
        index: usize,
        /// How many there are.
        of: usize,
    },
}

/// The way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hops<'t> {
    pub(super) steps: Vec<Hop<'t>>,
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
pub(super) fn to<'t>(object: NodeRef<'t>, span: Span) -> Option<Hops<'t>> {
    let mut steps = Vec::new();
    let mut node = object;
    let is = |node: NodeRef<'t>| node.span() == span || node.outer_span() == span;
    // An alias may lead up to where it stands.
    while !is(node) && node.kind() != Kind::Alias {
        if let Some(entry) = node.entries().find(|entry| entry.span().contains(span)) {
            steps.push(Hop::Key(entry.key.text()?));
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
        let count = node.items().len();
        let Some((index, item)) = last_around(count, |index| node.item(index), span) else {
            // Within a scalar, or between two fields.
            break;
        };
        steps.push(Hop::Item {
            name: name(item),
            index,
            of: count,
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
