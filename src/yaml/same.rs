//! Whether a node already holds a value.

use std::cell::Cell;

use crate::yaml::change::Value;
use crate::yaml::merge::effective_entries;
use crate::yaml::scalar::Scalar;
use crate::yaml::tree::NodeRef;

/// Nodes that are compared at most; a larger value counts as different.
const BUDGET: usize = 100_000;

/// Tells whether `node` is read as `value`, aliases and merge keys followed; the order of keys
/// does not count.
pub(super) fn same(node: NodeRef<'_>, value: &Value) -> bool {
    same_within(node, value, &Cell::new(BUDGET))
}

fn same_within(node: NodeRef<'_>, value: &Value, budget: &Cell<usize>) -> bool {
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
                    .all(|(node, value)| same_within(node, value, budget))
        }
        Value::Map(entries) => {
            let count = effective_entries(node, budget).map(|all| all.len());
            node.is_mapping()
                && count.is_ok_and(|count| count == entries.len())
                && entries.iter().all(|(key, value)| {
                    node.get(key)
                        .is_some_and(|node| same_within(node, value, budget))
                })
        }
    }
}
