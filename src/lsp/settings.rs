//! The settings of the client.

use gen_lsp_types::{ConfigurationItem, ConfigurationParams, Uri};
use serde_json::{Map, Value};

/// The section of the settings of the client.
const SECTION: &str = "meshprobe";

/// Returns the request for the settings of folders.
pub(super) fn request(folders: impl Iterator<Item = Uri>) -> ConfigurationParams {
    let items = folders.map(|uri| ConfigurationItem {
        scope_uri: Some(uri),
        section: Some(SECTION.to_owned()),
    });
    ConfigurationParams {
        items: items.collect(),
    }
}

/// Returns the settings in what a client sends: the section, or an object that contains the section.
pub(super) fn section(value: &Value) -> Value {
    let section = value.get(SECTION).unwrap_or(value);
    match section {
        Value::Object(_) => section.clone(),
        _ => Value::Object(Map::new()),
    }
}
