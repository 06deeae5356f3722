//! The configuration object: `.meshprobe.yaml`, or the functionConfig of a KRM call.
//!
//! The keys have two forms: nested under `spec`, or as strings in the `data` of a ConfigMap, where the key is the path
//! (`mesh.version`) and the items of a list are separated by commas.

mod config_map;
mod object;

use std::collections::BTreeMap;

use meshprobe_yaml::{Kind, NodeRef};

use super::RuleNames;
use super::layer::Layer;
use object::error;

pub use object::{API_VERSION, ConfigError, KIND, schema};

/// Parses a configuration object. `rules` may contain all of `names`, and `ignore` those that `check` reports.
///
/// # Errors
/// The first error of the object, and all keys that are written twice.
pub fn parse(object: NodeRef<'_>, names: &RuleNames) -> Result<Layer, Vec<ConfigError>> {
    let mut errors = Vec::new();
    duplicates(object, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let text = |key: &str| object.get(key).and_then(NodeRef::text);
    let layer = match (text("apiVersion"), text("kind")) {
        (Some("v1"), Some("ConfigMap")) => config_map::config_map(object, names),
        _ => object::object(object, names),
    };
    layer.map_err(|error| vec![error])
}

/// Reports duplicate keys, because it is not known which of the two the user wants.
fn duplicates(node: NodeRef<'_>, errors: &mut Vec<ConfigError>) {
    // The target of an alias is checked at its anchor; it may contain the alias itself.
    if node.kind() == Kind::Alias {
        return;
    }
    let mut seen = BTreeMap::new();
    for entry in node.entries() {
        let key = entry.key.text().unwrap_or_default();
        if let Some(first) = seen.insert(key, entry.key.span()) {
            let message = format!("duplicate key `{key}`");
            errors.push(error(first, format!("{message}: first occurrence")));
            errors.push(error(entry.key.span(), message));
        }
        duplicates(entry.value, errors);
    }
    for item in node.items() {
        duplicates(item, errors);
    }
}

#[cfg(test)]
mod tests;
