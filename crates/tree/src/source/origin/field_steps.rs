//! Path from an object to a field, in a form that is also valid in another text.

use meshprobe_yaml::{Kind, NodeRef, Span};

use crate::source::model::objects::last_around;

/// Step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldStep<'t> {
    /// The value of a key.
    Key(&'t str),
    /// An item of a list.
    Item {
        /// Its `name`, if it has one.
        name: Option<&'t str>,
        /// Its index.
        index: usize,
        /// The number of items.
        of: usize,
    },
}

/// Path to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSteps<'t> {
    pub(super) steps: Vec<FieldStep<'t>>,
    pub(super) covers: Covers,
}

/// Part of the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covers {
    Key,
    Value,
    /// From the key to the end of the value.
    Entry,
}

/// Returns the path to the text at `span` in `object`.
pub(super) fn to<'t>(object: NodeRef<'t>, span: Span) -> Option<FieldSteps<'t>> {
    let mut steps = Vec::new();
    let mut node = object;
    let is_target = |node: NodeRef<'t>| node.span() == span || node.outer_span() == span;
    // An alias may lead to a node that contains the alias.
    while !is_target(node) && node.kind() != Kind::Alias {
        if let Some(entry) = node.entries().find(|entry| entry.span().contains(span)) {
            steps.push(FieldStep::Key(entry.key.text()?));
            let covers = if entry.key.outer_span().contains(span) {
                Covers::Key
            } else if span.start < entry.value.outer_span().start {
                Covers::Entry
            } else {
                node = entry.value;
                continue;
            };
            return Some(FieldSteps { steps, covers });
        }
        let count = node.items().len();
        let Some((index, item)) = last_around(count, |index| node.item(index), span) else {
            // The span is in a scalar, or between two fields.
            break;
        };
        steps.push(FieldStep::Item {
            name: name(item),
            index,
            of: count,
        });
        node = item;
    }
    let covers = Covers::Value;
    (!steps.is_empty()).then_some(FieldSteps { steps, covers })
}

/// Returns the name that distinguishes an item of a list from the others.
pub(super) fn name(item: NodeRef<'_>) -> Option<&str> {
    item.get("name").and_then(NodeRef::text)
}
