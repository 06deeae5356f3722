//! The settings in the `data` of a ConfigMap.

use meshprobe_yaml::{DeError, NodeRef, Scalar, Span, Step, from_node};
use serde_json::{Value, json};

use super::object::{ConfigError, KIND, Spec, described, error};
use crate::settings::RuleNames;
use crate::settings::layer::Layer;
use crate::settings::setting::{canonical_boolean, with_root};
use crate::settings::suggest::unknown_value_message;

const CONFIG_MAP_KEYS: &[&str] = &["apiVersion", "data", "immutable", "kind", "metadata"];

/// Parses the `data` of a ConfigMap: each entry is a setting of its own.
pub(super) fn config_map(object: NodeRef<'_>, names: &RuleNames) -> Result<Layer, ConfigError> {
    for entry in object.entries() {
        let key = entry.key.text().unwrap_or_default();
        if !CONFIG_MAP_KEYS.contains(&key) {
            let message = unknown_value_message("key", key, CONFIG_MAP_KEYS);
            return Err(error(entry.key.span(), message));
        }
    }
    let Some(data) = object.get("data").filter(|data| !data.is_null()) else {
        return Ok(Layer::default());
    };
    if !data.is_mapping() {
        return Err(error(data.span(), "expected a mapping for `data`".into()));
    }
    let mut layer = Layer::default();
    for entry in data.entries() {
        let path = entry.key.text().unwrap_or_default();
        let span = Span::new(entry.key.span().start, entry.value.span().end);
        let read = config_map_entry(path, entry.value, data).and_then(|spec| {
            with_root(&spec, |root| {
                let spec: Spec = from_node(root).map_err(|fault| message_of(&fault, root))?;
                spec.layer(Some(root), names).map_err(|error| error.message)
            })
        });
        layer = read.map_err(|message| error(span, message))?.or(layer);
    }
    Ok(layer)
}

/// Returns the message about an entry, whose key is the whole path.
fn message_of(fault: &DeError, root: NodeRef<'_>) -> String {
    match (&fault.unknown_field, fault.route.steps()) {
        (Some((key, known)), [Step::Key(head), ..]) => {
            let path = |key: &str| format!("{head}.{key}");
            let known: Vec<String> = known.iter().map(|key| path(key)).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            unknown_value_message("key", &path(key), &known)
        }
        _ => described(fault, root),
    }
}

/// Settings with keys of their own.
const GROUPS: [&str; 3] = ["assume", "mesh", "rules"];

/// Returns the settings in an entry of a ConfigMap.
fn config_map_entry(path: &str, value: NodeRef<'_>, data: NodeRef<'_>) -> Result<Value, String> {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    if ["baseline", "helm", "ignore", "root", "scopes"].contains(&head) {
        return Err(format!(
            "`{head}` cannot be set in a ConfigMap; use an object of kind `{KIND}`"
        ));
    }
    let text = value.text().filter(|_| !value.is_null());
    let text = text.ok_or_else(|| format!("expected a string for `{path}`"))?;
    // `kustomize fn run` and kpt create the ConfigMap from arguments and keep their text, so 1.30 stays 1.30;
    // `kustomize build` reads it from a file, and passes 1.30 on as 1.3 (observed with 5.8.2). The last release of Open
    // Service Mesh is 1.2: no release has a digit to lose.
    let is_cut = text
        .split_once('.')
        .is_some_and(|(_, minor)| minor.len() == 1)
        && matches!(value.scalar(), Some(Scalar::Float(_)))
        && data.get("mesh.kind").and_then(NodeRef::text) != Some("osm");
    if is_cut && matches!(rest, "version" | "node-version") {
        return Err(format!(
            "expected a string for `{path}`, found a number: kustomize changes {text}0 to {text}; \
             write the release in quotes"
        ));
    }
    let setting = match head {
        "actions" | "context" | "failOn" => {
            let parts = text.split(',').map(str::trim);
            json!(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>())
        }
        _ if matches!(value.scalar(), Some(Scalar::Bool(_))) => json!(canonical_boolean(text)),
        _ => json!(text),
    };
    match (GROUPS.contains(&head), rest) {
        (true, "") => Err(format!(
            "`{head}` cannot be set as a string; use `{head}.KEY`"
        )),
        (true, rest) => Ok(json!({ head: { rest: setting } })),
        (false, _) => Ok(json!({ path: setting })),
    }
}
