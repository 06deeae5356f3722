//! The JSON schema of the configuration object, built from the lists that the parser uses.

use serde_json::{Map, Value, json};

use crate::finding::RuleId;

use super::super::facts::{FACT_KEYS, INJECTIONS, MTLS_MODES};
use super::super::{Form, MeshKind, REMOVED_RULES, RuleNames};
use super::ignores::IGNORE_KEYS;
use super::scopes::SCOPE_KEYS;
use super::values::{ACTIONS, EMITS, FAIL_LEVELS, RULE_LEVELS};
use super::{API_VERSION, KIND, MESH_KEYS, OBJECT_KEYS, SPEC_KEYS};

const ID: &str = "https://meshprobe.dev/schema/v1alpha1/meshprobe.schema.json";

/// Returns the schema (draft 7) of the configuration object. `rules` may contain all of
/// `names`, and `ignore` those that `check` reports.
///
/// It accepts the same objects as [`parse`](super::parse), except for two differences: an empty mapping is written `{}`,
/// and modes of mutual TLS are written in capitals.
#[must_use]
pub fn schema(names: &RuleNames) -> Value {
    let Value::Object(mut object) = object(OBJECT_KEYS, |key| object_key(key, names)) else {
        return Value::Null;
    };
    object.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    object.insert("$id".into(), ID.into());
    object.insert("title".into(), KIND.into());
    object.insert("required".into(), json!(["apiVersion", "kind"]));
    described(
        Value::Object(object),
        "Settings of meshprobe: the file .meshprobe.yaml, or the functionConfig of the KRM function.",
    )
}

fn object_key(key: &str, names: &RuleNames) -> Value {
    match key {
        "apiVersion" => json!({"type": "string", "enum": [API_VERSION]}),
        "kind" => json!({"type": "string", "enum": [KIND]}),
        "metadata" => json!({"type": "object"}),
        _ => object(SPEC_KEYS, |key| spec_key(key, names)),
    }
}

fn spec_key(key: &str, names: &RuleNames) -> Value {
    match key {
        "actions" => described(
            list(words(ACTIONS)),
            "The actions of the KRM function in one call; both by default. `check` checks the input; findings that `rewrite` removes become notes.",
        ),
        "assume" => {
            facts("Facts that the manifests do not state; the manifests take precedence over them.")
        }
        "context" => described(
            list(json!({"type": "string"})),
            "Files and folders that are read for facts, and whose findings are not reported. Relative to the file, or to the kustomization that calls the function.",
        ),
        "emit" => described(
            words(EMITS),
            "The items that the KRM function returns. `none` is only for `validators:` of kustomize build.",
        ),
        "failOn" => described(
            words(FAIL_LEVELS),
            "The run fails on findings of this severity or above; `warning` by default, `error` for the KRM function.",
        ),
        "form" => described(
            words(&Form::ALL.map(Form::as_str)),
            "How a rewrite carries the original probes; `annotation` by default.",
        ),
        "ignore" => described(
            list(ignore(names)),
            "Findings that are silenced, with reasons.",
        ),
        "mesh" => described(object(MESH_KEYS, mesh_key), "The service mesh."),
        "root" => described(
            json!({"enum": [true, false, "true", "false"]}),
            "Whether the folder of the file is a tree of its own: facts about its files come only from it, and other trees do not read it for facts. Not in a functionConfig.",
        ),
        "rules" => levels(names),
        "scopes" => described(
            list(scope(names)),
            "Facts and levels for some files only; later scopes take precedence. Not in a functionConfig.",
        ),
        _ => Value::Null,
    }
}

fn mesh_key(key: &str) -> Value {
    match key {
        "kind" => {
            let names: Vec<&str> = MeshKind::all().map(MeshKind::as_str).collect();
            described(
                words(&names),
                "The mesh; detected from the manifests by default.",
            )
        }
        "revision" => described(text(), "The revision of the control plane."),
        "rootNamespace" => described(
            text(),
            "The namespace whose policies apply to the whole mesh.",
        ),
        "version" => described(version(), "The release of the mesh, such as \"1.28\"."),
        _ => Value::Null,
    }
}

fn facts(about: &str) -> Value {
    described(object(FACT_KEYS, fact), about)
}

fn fact(key: &str) -> Value {
    match key {
        "ambient" | "cni" | "cni-enforces-node-traffic" | "native-sidecars" | "rewrite" => {
            json!({"enum": [true, false, "true", "false"]})
        }
        "injection" => words(INJECTIONS),
        "mtls" => words(MTLS_MODES),
        "node-version" => described(version(), "The oldest Kubernetes release among the nodes."),
        "revision" | "root-namespace" => text(),
        "status-port" => {
            json!({"type": ["integer", "string"], "minimum": 1, "maximum": 65535, "pattern": "^[0-9]+$"})
        }
        _ => Value::Null,
    }
}

fn ignore(names: &RuleNames) -> Value {
    let mut entry = object(IGNORE_KEYS, |key| match key {
        "path" => described(
            text(),
            "A glob; without it, the entry applies to all files. Not in a functionConfig.",
        ),
        "reason" => json!({"type": "string", "pattern": "\\S"}),
        "rule" => words(&texts(names.reported())),
        _ => Value::Null,
    });
    require(&mut entry, &["reason", "rule"]);
    entry
}

fn scope(names: &RuleNames) -> Value {
    let mut scope = object(SCOPE_KEYS, |key| match key {
        "assume" => facts("Facts that the manifests do not state, like the top-level `assume`."),
        "override" => facts("Facts that take precedence over the manifests."),
        "paths" => {
            json!({"type": "array", "minItems": 1, "items": text(), "description": "Globs, relative to the folder of the file."})
        }
        "rules" => levels(names),
        _ => Value::Null,
    });
    require(&mut scope, &["paths"]);
    scope
}

/// Returns the ids, and those of removed rules, which the parser accepts.
fn texts(ids: &[RuleId]) -> Vec<&'static str> {
    let removed = REMOVED_RULES.iter().map(|rule| rule.id.as_str());
    ids.iter().map(|id| id.as_str()).chain(removed).collect()
}

fn levels(names: &RuleNames) -> Value {
    json!({
        "type": "object",
        "propertyNames": {"enum": texts(names.all())},
        "additionalProperties": words(RULE_LEVELS),
        "description": "Levels of rules and guards, by id.",
    })
}

/// Returns the schema of a mapping with these keys and no others.
fn object(keys: &[&str], value: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), value(key)))
        .collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn require(object: &mut Value, keys: &[&str]) {
    if let Value::Object(object) = object {
        object.insert("required".into(), json!(keys));
    }
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn version() -> Value {
    json!({"type": "string", "pattern": "^v?[0-9]+[.-][0-9]+"})
}

fn described(mut schema: Value, about: &str) -> Value {
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".into(), about.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that the parser accepts and the schema does not describe would be `null`.
    #[test]
    fn every_key_is_described() {
        let text = schema(&RuleNames::new([])).to_string();
        assert!(!text.contains("null"), "{text}");
    }
}
