//! The value that our parser reads from a document.

use std::cell::Cell;

use serde_yaml::Value as Yaml;

use super::limits::{DEPTH, REPEATED};
use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::{Kind, NodeRef, Tree};

/// Rejects documents whose aliases repeat too many nodes, because the referee copies the target of each alias.
pub(super) fn check_expansion(tree: &Tree) -> Result<(), String> {
    let mut budget = tree.node_count().saturating_add(REPEATED);
    let mut stack: Vec<NodeRef<'_>> = tree.root().into_iter().collect();
    while let Some(node) = stack.pop() {
        budget = budget
            .checked_sub(1)
            .ok_or_else(|| "repeats too many nodes through aliases".to_owned())?;
        let node = node.resolved();
        stack.extend(node.items());
        stack.extend(node.entries().map(|entry| entry.value));
        stack.extend(
            node.entries()
                .map(|entry| entry.key)
                .filter(|key| key.kind() != Kind::Scalar),
        );
    }
    Ok(())
}

/// Returns the value of a document by the rules of Kubernetes tooling, from our tree. Keys are not converted.
pub(super) fn own_value(tree: &Tree) -> Result<Yaml, String> {
    let root = tree.root().ok_or_else(|| "is empty".to_owned())?;
    node_value(
        root,
        DEPTH,
        &Cell::new(tree.node_count().saturating_add(REPEATED)),
    )
}

fn node_value(node: NodeRef<'_>, depth: usize, budget: &Cell<usize>) -> Result<Yaml, String> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| format!("nests deeper than {DEPTH}"))?;
    if let Some(scalar) = node.scalar() {
        return Ok(scalar_value(scalar));
    }
    if node.is_sequence() {
        let items = node.items().map(|item| node_value(item, depth, budget));
        return Ok(Yaml::Sequence(items.collect::<Result<_, _>>()?));
    }
    let entries = effective_entries(node, budget)
        .map_err(|_| "repeats too many nodes through merge keys".to_owned())?;
    let entries = entries.into_iter().map(|entry| {
        let key = entry
            .key
            .text()
            .ok_or("has a key that is a mapping or a list")?;
        let value = node_value(entry.value, depth, budget)?;
        Ok::<_, String>((Yaml::String(key.to_owned()), value))
    });
    Ok(Yaml::Mapping(entries.collect::<Result<_, _>>()?))
}

/// Returns the value of a scalar.
pub(super) fn scalar_value(scalar: Scalar<'_>) -> Yaml {
    match scalar {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(value) => Yaml::Bool(value),
        Scalar::Int(value) => Yaml::Number(value.into()),
        Scalar::UInt(value) => Yaml::Number(value.into()),
        Scalar::Float(value) => Yaml::Number(value.into()),
        Scalar::Str(text) => Yaml::String(text.to_owned()),
    }
}
