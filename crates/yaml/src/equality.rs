//! Comparison of a node with a value that is to be written.

use std::cell::Cell;

use crate::change::Value;
use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::NodeRef;

/// Limit on the nodes that are compared; a larger value counts as different.
const BUDGET: usize = 100_000;

/// Returns whether `node` has the value `value`. Aliases and merge keys are followed; the order of keys
/// is ignored.
pub(super) fn has_value(node: NodeRef<'_>, value: &Value) -> bool {
    has_value_within(node, value, &Cell::new(BUDGET))
}

fn has_value_within(node: NodeRef<'_>, value: &Value, budget: &Cell<usize>) -> bool {
    let Some(left) = budget.get().checked_sub(1) else {
        return false;
    };
    budget.set(left);
    match value {
        Value::Null => node.is_null(),
        Value::Bool(value) => node.scalar() == Some(Scalar::Bool(*value)),
        Value::Int(value) => node.scalar() == Some(Scalar::Int(*value)),
        Value::Str(text) | Value::Block(text) => node.as_str() == Some(text),
        Value::Seq(items) => {
            node.is_sequence()
                && node.items().len() == items.len()
                && node
                    .items()
                    .zip(items)
                    .all(|(node, value)| has_value_within(node, value, budget))
        }
        Value::Map(entries) => {
            let count = effective_entries(node, budget).map(|all| all.len());
            node.is_mapping()
                && count.is_ok_and(|count| count == entries.len())
                && entries.iter().all(|(key, value)| {
                    node.get(key)
                        .is_some_and(|node| has_value_within(node, value, budget))
                })
        }
    }
}
