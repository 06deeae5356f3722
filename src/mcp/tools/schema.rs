//! Schemas of tools. Assistants pay for each of their tokens, and some clients do not resolve references.

use std::sync::Arc;

use meshprobe_mesh::settings::MeshKind;
use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde_json::Value;

/// The deepest schema that references are resolved in.
const DEPTH: usize = 16;

/// Returns the schema of the parameters of a tool; for `mesh`, with the names that are known.
pub(super) fn input<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    let mut schema = short(&schema_for_input::<T>().unwrap_or_default());
    let mesh = schema
        .get_mut("properties")
        .and_then(|properties| properties.get_mut("mesh"))
        .and_then(Value::as_object_mut);
    if let Some(mesh) = mesh {
        let names = MeshKind::all().map(|kind| Value::from(kind.as_str()));
        mesh.insert("enum".into(), names.collect());
    }
    schema.insert("additionalProperties".into(), false.into());
    Arc::new(schema)
}

/// Returns the schema of the structured content of a tool.
pub(super) fn output<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    Arc::new(short(&schema_for_output::<T>()))
}

/// Returns a schema without references, defaults and alternatives to `null`.
fn short(schema: &JsonObject) -> JsonObject {
    let root = Value::Object(schema.clone());
    let mut short = shortened(&root, &root, DEPTH);
    match short.as_object_mut() {
        Some(object) => {
            object.remove("$defs");
            object.remove("$schema");
            std::mem::take(object)
        }
        None => JsonObject::new(),
    }
}

fn shortened(value: &Value, root: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Bool(true);
    };
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| shortened(item, root, depth))
            .collect(),
        Value::Object(object) => of_object(object, root, depth),
        _ => value.clone(),
    }
}

fn of_object(object: &JsonObject, root: &Value, depth: usize) -> Value {
    let mut out = JsonObject::new();
    let alternatives = object.get("anyOf").and_then(Value::as_array);
    let referring = alternatives
        .into_iter()
        .flatten()
        .find(|value| value.get("$ref").is_some());
    let reference = referring
        .and_then(|value| value.get("$ref"))
        .or_else(|| object.get("$ref"));
    let definition = reference
        .and_then(|text| root.pointer(text.as_str()?.strip_prefix('#')?))
        .map(|definition| shortened(definition, root, depth));
    if let Some(Value::Object(definition)) = definition {
        out.extend(definition);
    }
    for (key, value) in object {
        match (key.as_str(), value) {
            ("$ref" | "default" | "format", _) => {}
            ("anyOf", _) if referring.is_some() => {}
            ("description", Value::String(text)) => {
                out.insert(key.clone(), text.replace('\n', " ").into());
            }
            ("type", Value::Array(kinds)) => {
                let kind = kinds.iter().find(|kind| *kind != "null");
                out.insert(key.clone(), kind.cloned().unwrap_or_default());
            }
            _ => {
                out.insert(key.clone(), shortened(value, root, depth));
            }
        }
    }
    Value::Object(out)
}
