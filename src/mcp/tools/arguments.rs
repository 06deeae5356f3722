//! Reads the arguments of a call. An error names the parameter.

use meshprobe_mesh::settings::most_similar;
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;

use super::super::error::ToolError;

/// Rejects arguments that the schema does not have: a misspelt one would be ignored silently.
///
/// # Errors
/// An argument is not known.
pub(super) fn reject_unknown(schema: &JsonObject, arguments: &JsonObject) -> Result<(), ToolError> {
    let known: Vec<&str> = schema
        .get("properties")
        .and_then(serde_json::Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let Some(unknown) = arguments
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    else {
        return Ok(());
    };
    let help = match most_similar(unknown, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("expected one of {}", names.join(", "))
        }
    };
    Err(ToolError::new(format!("unknown parameter `{unknown}`")).help(help))
}

/// Parses the arguments. All fields of `T` must be optional.
///
/// # Errors
/// An argument has the wrong type.
pub(super) fn parse<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, ToolError> {
    let parsed = serde_json::from_value(arguments.clone().into());
    parsed.map_err(|error| {
        // The error of serde does not name the field.
        for (name, value) in arguments {
            let alone = JsonObject::from_iter([(name.clone(), value.clone())]);
            if let Err(error) = serde_json::from_value::<T>(alone.into()) {
                return ToolError::new(format!("invalid value for `{name}`: {error}"));
            }
        }
        ToolError::new(format!("invalid arguments: {error}"))
    })
}
