//! Parts of JSON schemas: the types of values that the parser accepts.

use serde_json::{Map, Value, json};

/// Returns the schema of a mapping with these keys and no others. An empty value is an empty mapping.
pub(super) fn mapping(keys: &[&str], value: impl Fn(&str) -> Value) -> Value {
    let Value::Object(mut schema) = object(keys, value) else {
        return Value::Null;
    };
    schema.insert("type".into(), json!(["object", "null"]));
    Value::Object(schema)
}

/// Returns the schema of a mapping with these keys and no others, which must not be empty.
pub(super) fn object(keys: &[&str], value: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), value(key)))
        .collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Requires keys of a mapping.
pub(super) fn require(object: Value, keys: &[&str]) -> Value {
    with(object, "required", json!(keys))
}

/// Returns the schema of one of these words.
pub(super) fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Returns the schema of one of these words in any case. Editors complete the words as they are written here.
pub(super) fn words_in_any_case(known: &[&str]) -> Value {
    let in_any_case = |word: &&str| {
        let letters = word.chars().map(|letter| {
            let (upper, lower) = (letter.to_ascii_uppercase(), letter.to_ascii_lowercase());
            format!("[{upper}{lower}]")
        });
        letters.collect::<String>()
    };
    let pattern: Vec<String> = known.iter().map(in_any_case).collect();
    let pattern = format!("^({})$", pattern.join("|"));
    json!({"anyOf": [words(known), {"type": "string", "pattern": pattern}]})
}

/// Returns the schema of a boolean, which may be in quotes.
pub(super) fn boolean() -> Value {
    json!({"enum": [true, false, "true", "false"]})
}

/// Returns the schema of a list.
pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Returns the schema of a text that is not empty. A number or a boolean without quotes is also read as text.
pub(super) fn text() -> Value {
    json!({"type": ["string", "number", "boolean"], "minLength": 1})
}

/// Returns the schema of a glob below the folder of the configuration file. A schema cannot check its brackets.
pub(super) fn glob() -> Value {
    with(
        text(),
        "pattern",
        r"^(?!(\./)?(/|$))(?!(.*/)?\.\.(/|$))".into(),
    )
}

/// Returns the schema of a release, which must be in quotes: YAML reads 1.30 as the number 1.3.
pub(super) fn version() -> Value {
    json!({"type": "string", "pattern": r"^\s*v*[0-9]{1,4}[.-][0-9]{1,4}([.-]|\s*$)"})
}

/// Returns the schema of a port, which may be in quotes.
pub(super) fn port() -> Value {
    let pattern = "^0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$";
    json!({"type": ["integer", "string"], "minimum": 1, "maximum": 65535, "pattern": pattern})
}

/// Adds a description.
pub(super) fn described(schema: Value, about: &str) -> Value {
    with(schema, "description", about.into())
}

/// Adds the value that applies if the key is not set.
pub(super) fn by_default(schema: Value, value: impl Into<Value>) -> Value {
    with(schema, "default", value.into())
}

/// Adds an example of a value.
pub(super) fn for_example(schema: Value, value: impl Into<Value>) -> Value {
    with(schema, "examples", json!([value.into()]))
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    if let Value::Object(schema) = &mut schema {
        schema.insert(key.into(), value);
    }
    schema
}
