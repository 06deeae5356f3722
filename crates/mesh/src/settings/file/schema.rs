//! The JSON schema of the configuration object, built from the lists that the parser uses.
//!
//! Parts of JSON schemas: the types of values that the parser accepts.

use serde_json::{Map, Value, json};

use super::ignores::IGNORE_KEYS;
use super::scopes::SCOPE_KEYS;
use super::values::{ACTIONS, EMITS, FAIL_LEVELS, HELM_VALUES, RULE_LEVELS};
use super::{API_VERSION, KIND, MESH_KEYS, OBJECT_KEYS, SPEC_KEYS};
use crate::finding::RuleId;
use crate::settings::facts::{DATAPLANES, FACT_KEYS, INJECTIONS, MTLS_MODES};
use crate::settings::{FormChoice, MeshKind, NetworkPlugin, RuleNames};

const ID: &str = "https://meshprobe.dev/schema/v1alpha1/meshprobe.schema.json";

/// Returns the schema (draft 7) of the configuration object. `rules` may contain all of
/// `names`, and `ignore` those that `check` reports.
///
/// It accepts the same objects as [`parse`](super::parse), except for globs whose brackets do not match, and keys that
/// are written twice: a schema cannot describe them.
#[must_use]
pub fn schema(names: &RuleNames) -> Value {
    let object = require(
        object(OBJECT_KEYS, |key| object_key(key, names)),
        &["apiVersion", "kind"],
    );
    let Value::Object(mut object) = object else {
        return Value::Null;
    };
    object.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    object.insert("$id".into(), ID.into());
    object.insert("title".into(), KIND.into());
    described(
        Value::Object(object),
        "Settings of meshprobe: the file .meshprobe.yaml, or the functionConfig of the KRM function.",
    )
}

fn object_key(key: &str, names: &RuleNames) -> Value {
    match key {
        "apiVersion" => described(words(&[API_VERSION]), "The version of this format."),
        "kind" => described(words(&[KIND]), "The kind of the object."),
        "metadata" => described(
            for_example(
                json!({"type": ["object", "null"]}),
                json!({"name": "default"}),
            ),
            "The metadata of the object, which kustomize and kpt require. meshprobe does not read it.",
        ),
        _ => described(
            mapping(SPEC_KEYS, |key| spec_key(key, names)),
            "The settings.",
        ),
    }
}

fn spec_key(key: &str, names: &RuleNames) -> Value {
    match key {
        "actions" => {
            let actions = json!({"type": "array", "minItems": 1, "items": words(ACTIONS)});
            described(
                by_default(actions, ACTIONS),
                "The actions of the KRM function in one call. `check` checks the input; findings that `rewrite` removes become notes.",
            )
        }
        "assume" => {
            facts("Facts that the manifests do not state; the manifests take precedence over them.")
        }
        "baseline" => described(
            for_example(text(), "known-findings.json"),
            "A file that `--write-baseline` has written; its findings are not reported. Relative to the file. Not in a functionConfig.",
        ),
        "context" => described(
            for_example(list(text()), json!(["../infrastructure"])),
            "Files and folders that are read for facts, and whose findings are not reported. Relative to the file, or to the kustomization that calls the function.",
        ),
        "emit" => described(
            by_default(words(EMITS), "items"),
            "The items that the KRM function returns. `none` is only for `validators:` of kustomize build.",
        ),
        "failOn" => {
            let levels = json!({"type": "array", "minItems": 1, "items": words(FAIL_LEVELS)});
            described(
                json!({"anyOf": [words(FAIL_LEVELS), levels]}),
                "The run fails on findings of this severity or above; `warning` by default, `error` for the KRM function. In a list, `not-judged` also makes it fail if something that runs pods is not judged, or a workload has no verdict.",
            )
        }
        "form" => described(
            by_default(
                words(&FormChoice::ALL.map(FormChoice::as_str)),
                FormChoice::default().as_str(),
            ),
            "How a rewrite carries the original probes.",
        ),
        "helm" => described(
            words(HELM_VALUES),
            "Whether the charts of the tree are rendered with the helm on the PATH, as with `--helm auto`. `auto` is only accepted in a file that `--config` names. Not in a functionConfig.",
        ),
        "ignore" => described(
            list(ignore(names)),
            "Findings that are suppressed, with reasons.",
        ),
        "mesh" => described(mapping(MESH_KEYS, mesh_key), "The service mesh."),
        "root" => described(
            by_default(boolean(), false),
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
            let names = MeshKind::all().map(MeshKind::as_str);
            described(
                by_default(
                    words(&names.collect::<Vec<_>>()),
                    MeshKind::default().as_str(),
                ),
                "The mesh; `auto` detects it from the manifests, for each pod.",
            )
        }
        "revision" => described(
            for_example(text(), "1-28"),
            "The revision of the control plane, like the fact `revision`.",
        ),
        "rootNamespace" => described(
            by_default(text(), "istio-system"),
            "The namespace whose policies apply to the whole mesh, like the fact `root-namespace`.",
        ),
        "version" => described(
            for_example(version(), "1.28"),
            "The release of the mesh, in quotes. By default, that of the installation in the tree, else the latest.",
        ),
        _ => Value::Null,
    }
}

fn facts(about: &str) -> Value {
    described(mapping(FACT_KEYS, fact), about)
}

fn fact(key: &str) -> Value {
    match key {
        "ambient" => described(boolean(), "Whether the ambient mode of Istio is installed."),
        "cni" => described(
            boolean(),
            "Whether the CNI plugin of Istio redirects the traffic, instead of an init container.",
        ),
        "cni-enforces-node-traffic" => described(
            by_default(boolean(), false),
            "Whether the CNI plugin of the cluster enforces NetworkPolicies on packets of the pod's own node.",
        ),
        "dataplane" => described(
            words(DATAPLANES),
            "A move of the namespaces that are in the mesh: `ambient` moves injected ones to ambient mode, `sidecar` the others back. As an assumption, it applies to namespaces that the tree does not contain.",
        ),
        "injection" => described(
            by_default(words(INJECTIONS), "evidence"),
            "Which pods are injected if the tree does not contain their Namespace: those with evidence of a mesh, all or none.",
        ),
        "mtls" => described(
            by_default(words_in_any_case(MTLS_MODES), "PERMISSIVE"),
            "The mutual TLS mode of ports for which no policy sets one.",
        ),
        "native-sidecars" => described(
            boolean(),
            "Whether sidecars are native: init containers with `restartPolicy: Always`.",
        ),
        "network-plugin" => described(
            words(&NetworkPlugin::NAMES),
            "The network plugin of the cluster, which decides whether probes reach pods in ambient mode. `other` is any other plugin that delivers packets from 169.254.7.127.",
        ),
        "node-version" => described(
            for_example(version(), "1.33"),
            "The oldest Kubernetes release among the nodes, in quotes.",
        ),
        "revision" => described(
            for_example(text(), "1-28"),
            "The revision of the control plane that injects pods.",
        ),
        "rewrite" => described(
            boolean(),
            "Whether the injector rewrites probes by default.",
        ),
        "root-namespace" => described(
            by_default(text(), "istio-system"),
            "The namespace whose policies apply to the whole mesh.",
        ),
        "status-port" => described(
            for_example(port(), 15020),
            "The port on which the agent listens, and which rewritten probes target.",
        ),
        _ => Value::Null,
    }
}

fn ignore(names: &RuleNames) -> Value {
    let entry = object(IGNORE_KEYS, |key| match key {
        "path" => described(
            for_example(glob(), "legacy/**"),
            "A glob, relative to the folder of the file; without it, the entry applies to all files. Not in a functionConfig.",
        ),
        "reason" => described(
            for_example(
                json!({"type": ["string", "number", "boolean"], "pattern": "\\S"}),
                "moves away in June",
            ),
            "Why the finding is suppressed. Reports contain it.",
        ),
        "rule" => described(
            words(&texts(names.reported())),
            "The id of the rule or notice.",
        ),
        _ => Value::Null,
    });
    described(
        require(entry, &["reason", "rule"]),
        "The findings of a rule that are suppressed.",
    )
}

fn scope(names: &RuleNames) -> Value {
    let scope = object(SCOPE_KEYS, |key| match key {
        "assume" => facts("Facts that the manifests do not state, like the top-level `assume`."),
        "override" => facts("Facts that take precedence over the manifests."),
        "paths" => described(
            for_example(
                json!({"type": "array", "minItems": 1, "items": glob()}),
                json!(["clusters/prod/**"]),
            ),
            "Globs, relative to the folder of the file.",
        ),
        "rules" => levels(names),
        _ => Value::Null,
    });
    described(
        require(scope, &["paths"]),
        "Facts and levels for the files that match one of the paths.",
    )
}

fn texts(ids: &[RuleId]) -> Vec<&'static str> {
    ids.iter().map(|id| id.as_str()).collect()
}

fn levels(names: &RuleNames) -> Value {
    described(
        json!({
            "type": ["object", "null"],
            "propertyNames": {"enum": texts(names.all())},
            "additionalProperties": words(RULE_LEVELS),
        }),
        "Levels of rules and guards, by id.",
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that the parser accepts and the schema does not contain would be `null`.
    #[test]
    fn every_key_has_a_description() {
        let schema = schema(&RuleNames::new([]));
        assert_eq!(undescribed(&schema, "$"), Vec::<String>::new());
    }

    fn undescribed(schema: &Value, path: &str) -> Vec<String> {
        let children = schema["properties"].as_object().into_iter().flatten();
        let mut found: Vec<String> = children
            .flat_map(|(key, child)| {
                let path = format!("{path}.{key}");
                let own = child["description"].is_null().then(|| path.clone());
                own.into_iter().chain(undescribed(child, &path))
            })
            .collect();
        if schema["items"].is_object() {
            found.extend(undescribed(&schema["items"], &format!("{path}[]")));
        }
        found
    }
}
