//! The types of the configuration object, which are its parser and its JSON schema. The descriptions of keys are their doc
//! comments.

use std::collections::{BTreeMap, BTreeSet};

use globset::Glob;
use meshprobe_yaml::{DeError, FieldPath, LineIndex, NodeRef, Scalar, Span, Step, from_node};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::settings::layer::{Ignore, Layer};
use crate::settings::setting::{
    Action, Emit, FailLevel, Leaf, RendersCharts, Setting, Words, filled, leaf,
};
use crate::settings::suggest::unknown_value_message;
use crate::settings::{
    FactOverrides, FailOn, FormChoice, MeshKind, RequiredVerdicts, RuleLevel, RuleNames, Scope,
    Version,
};

/// The API version of the configuration object.
pub const API_VERSION: &str = "meshprobe.dev/v1alpha1";

/// The kind of the configuration object.
pub const KIND: &str = "MeshProbe";

const ID: &str = "https://meshprobe.dev/schema/v1alpha1/meshprobe.schema.json";

/// An error in a configuration object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The byte range of the invalid key or value.
    pub span: Span,
    /// The error message.
    pub message: String,
}

/// Settings of meshprobe: the file .meshprobe.yaml, or the functionConfig of the KRM function.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = "an object of kind `MeshProbe`")]
#[schemars(title = "MeshProbe")]
struct Object {
    /// The version of this format.
    #[schemars(with = "String", extend("enum" = [API_VERSION]))]
    #[expect(dead_code, reason = "checked before")]
    api_version: IgnoredAny,
    /// The kind of the object.
    #[schemars(with = "String", extend("enum" = [KIND]))]
    #[expect(dead_code, reason = "checked before")]
    kind: IgnoredAny,
    /// The metadata of the object, which kustomize and kpt require. meshprobe does not read it.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, Value>>", example = json!({"name": "default"}))]
    #[expect(dead_code, reason = "only its type is checked")]
    metadata: Option<BTreeMap<String, IgnoredAny>>,
    /// The settings.
    #[serde(default)]
    spec: Option<Spec>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[serde(expecting = "a mapping")]
pub(super) struct Spec {
    /// The actions of the KRM function in one call. `check` checks the input; findings that `rewrite` removes become
    /// notes.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1), extend("default" = Action::names()))]
    actions: Vec<Leaf<Action>>,
    /// Facts that the manifests do not state; the manifests take precedence over them.
    assume: Option<FactOverrides>,
    /// A file that `--write-baseline` has written; its findings are not reported. Relative to the file. Not in a
    /// functionConfig.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<String>", example = "known-findings.json")]
    baseline: Option<String>,
    /// Files and folders that are read for facts, and whose findings are not reported. Relative to the file, or to the
    /// kustomization that calls the function.
    #[schemars(extend("examples" = [["../infrastructure"]]))]
    context: Vec<Leaf<String>>,
    /// The items that the KRM function returns. `none` is only for `validators:` of kustomize build.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<Emit>", extend("default" = "items"))]
    emit: Option<Emit>,
    /// The run fails on findings of this severity or above; `warning` by default, `error` for the KRM function. In a
    /// list, `not-judged` also makes it fail if something that runs pods is not judged, or a workload has no verdict.
    fail_on: FailLevels,
    /// How a rewrite carries the original probes.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<FormChoice>", extend("default" = "auto"))]
    form: Option<FormChoice>,
    /// Whether the charts of the tree are rendered with the helm on the PATH, as with `--helm auto`. `auto` is only
    /// accepted in a file that `--config` names. Not in a functionConfig.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<RendersCharts>")]
    helm: Option<RendersCharts>,
    /// Findings that are suppressed, with reasons.
    ignore: Vec<IgnoreEntry>,
    /// The service mesh.
    mesh: Option<MeshSpec>,
    /// Whether the folder of the file is a tree of its own: facts about its files come only from it, and other trees
    /// do not read it for facts. Not in a functionConfig.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<bool>", extend("default" = false))]
    root: Option<bool>,
    /// Levels of rules and guards, by id.
    rules: Option<Levels>,
    /// Facts and levels for some files only; later scopes take precedence. Not in a functionConfig.
    scopes: Vec<ScopeEntry>,
}

/// Levels by the id of a rule, a notice or a guard.
type Levels = BTreeMap<String, Leaf<RuleLevel>>;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[serde(expecting = "a mapping")]
struct MeshSpec {
    /// The mesh; `auto` detects it from the manifests, for each pod.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<MeshKind>", extend("default" = "auto"))]
    kind: Option<MeshKind>,
    /// The revision of the control plane, like the fact `revision`.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<String>", example = "1-28")]
    revision: Option<String>,
    /// The namespace whose policies apply to the whole mesh, like the fact `root-namespace`.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<String>", extend("default" = "istio-system"))]
    root_namespace: Option<String>,
    /// The release of the mesh, in quotes. By default, that of the installation in the tree, else the latest.
    #[serde(deserialize_with = "leaf")]
    #[schemars(with = "Leaf<Version>", example = "1.28")]
    version: Option<Version>,
}

/// The findings of a rule that are suppressed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
struct IgnoreEntry {
    /// A glob, relative to the folder of the file; without it, the entry applies to all files. Not in a
    /// functionConfig.
    #[serde(default, deserialize_with = "leaf")]
    #[schemars(with = "Leaf<Glob>", example = "legacy/**")]
    path: Option<Glob>,
    /// Why the finding is suppressed. Reports contain it.
    #[schemars(example = "moves away in June", extend("pattern" = r"\S"))]
    reason: Leaf<String>,
    /// The id of the rule or notice.
    rule: String,
}

/// Facts and levels for the files that match one of the paths.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
struct ScopeEntry {
    /// Facts that the manifests do not state, like the top-level `assume`.
    #[serde(default)]
    assume: Option<FactOverrides>,
    /// Facts that take precedence over the manifests.
    #[serde(default)]
    r#override: Option<FactOverrides>,
    /// Globs, relative to the folder of the file.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1), extend("examples" = [["clusters/prod/**"]]))]
    paths: Vec<Leaf<Glob>>,
    /// Levels of rules and guards, by id.
    #[serde(default)]
    rules: Option<Levels>,
}

/// One level, or a list of levels.
#[derive(Default)]
struct FailLevels(Vec<Leaf<FailLevel>>);

impl<'de> Deserialize<'de> for FailLevels {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;

        impl<'de> serde::de::Visitor<'de> for OneOrMore {
            type Value = Vec<Leaf<FailLevel>>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a level or a list of levels")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let level = FailLevel::read(text).map_err(E::custom)?;
                Ok(vec![Leaf(level)])
            }

            fn visit_bytes<E: serde::de::Error>(self, written: &[u8]) -> Result<Self::Value, E> {
                self.visit_str(&String::from_utf8_lossy(written))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                items: A,
            ) -> Result<Self::Value, A::Error> {
                filled(serde::de::value::SeqAccessDeserializer::new(items))
            }
        }
        deserializer.deserialize_bytes(OneOrMore).map(Self)
    }
}

impl JsonSchema for FailLevels {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FailLevels".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let level = FailLevel::schema();
        schemars::json_schema!({"anyOf": [level, {"type": "array", "minItems": 1, "items": level}]})
    }
}

/// Returns the schema (draft 7) of the configuration object. `rules` may contain all of
/// `names`, and `ignore` those that `check` reports.
///
/// It accepts the same objects as [`super::parse`], except for globs whose brackets do not match, and keys that
/// are written twice: a schema cannot describe them.
#[must_use]
pub fn schema(names: &RuleNames) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Object>();
    let mut schema = Value::from(schema);
    let ids = |ids: &[RuleId]| json!(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>());
    let spec = "/properties/spec/properties";
    let (reported, all) = (ids(names.reported()), json!({"enum": ids(names.all())}));
    for (path, key, value) in [
        (String::new(), "$id", &json!(ID)),
        (format!("{spec}/rules"), "propertyNames", &all),
        (
            format!("{spec}/scopes/items/properties/rules"),
            "propertyNames",
            &all,
        ),
        (
            format!("{spec}/ignore/items/properties/rule"),
            "enum",
            &reported,
        ),
    ] {
        if let Some(Value::Object(part)) = schema.pointer_mut(&path) {
            part.insert(key.to_owned(), value.clone());
        }
    }
    tidy(&mut schema);
    schema
}

/// Joins the lines of descriptions, which are lines of doc comments, and removes defaults that state nothing.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| key != "default" || !(value.is_null() || *value == json!([])));
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Parses an object of kind `MeshProbe`.
///
/// # Errors
/// The first error.
pub(super) fn object(object: NodeRef<'_>, names: &RuleNames) -> Result<Layer, ConfigError> {
    for (key, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        let found = object.get(key);
        if object.is_mapping() && found.and_then(NodeRef::text) != Some(expected) {
            let span = found.map_or(Span::empty(object.span().start), NodeRef::span);
            return Err(error(span, format!("expected `{key}: {expected}`")));
        }
    }
    let read: Object =
        from_node(object).map_err(|fault: DeError| error(fault.span, described(&fault, object)))?;
    let spec = read.spec.unwrap_or_default();
    spec.layer(object.get("spec"), names)
}

pub(super) const fn error(span: Span, message: String) -> ConfigError {
    ConfigError { span, message }
}

/// Returns the message, with the key and, for a misspelt key, a suggestion.
pub(super) fn described(fault: &DeError, root: NodeRef<'_>) -> String {
    if let Some((key, known)) = &fault.unknown_field {
        return unknown_value_message("key", key, known);
    }
    let route = match fault.route.steps() {
        [Step::Key(spec), rest @ ..] if spec == "spec" && !rest.is_empty() => rest,
        route => route,
    };
    let route = route
        .iter()
        .fold(FieldPath::root(), |path, step| path.child(step.clone()));
    let message = match route.steps() {
        [] => fault.message.clone(),
        _ => format!("`{route}`: {}", fault.message),
    };
    // YAML reads 1.30 as the number 1.3, and `off` as a boolean.
    let value = root.at(&fault.route).filter(|value| {
        matches!(value.scalar(), Some(Scalar::Float(_) | Scalar::Bool(_)))
            && fault.message.ends_with("expected a string")
    });
    match value.and_then(NodeRef::text) {
        Some(text) => format!("{message}; write \"{text}\" in quotes"),
        None => message,
    }
}

impl Spec {
    /// Converts the settings. `node` contains them, for positions of errors.
    pub(super) fn layer(
        self,
        node: Option<NodeRef<'_>>,
        names: &RuleNames,
    ) -> Result<Layer, ConfigError> {
        let child = |key: &str| node.and_then(|node| node.get(key));
        let mesh = self.mesh.unwrap_or_default();
        let mut assume = self.assume.unwrap_or_default();
        assume.revisions.extend(mesh.revision);
        assume.root_namespace = mesh.root_namespace.or(assume.root_namespace);
        let levels = self.fail_on.0.iter().map(|Leaf(level)| *level);
        let fail_on = levels.clone().filter_map(|level| match level {
            FailLevel::Severity(severity) => Some(FailOn::Severity(severity)),
            FailLevel::Never => Some(FailOn::Never),
            FailLevel::NotJudged => None,
        });
        let is_required = levels.clone().any(|level| level == FailLevel::NotJudged);
        let scopes = self.scopes.into_iter().enumerate();
        let scopes = scopes.map(|(at, scope)| {
            scope.converted(child("scopes").and_then(|list| list.item(at)), names)
        });
        let ignore = self.ignore.into_iter().enumerate();
        let ignore = ignore.map(|(at, entry)| {
            entry.converted(child("ignore").and_then(|list| list.item(at)), names)
        });
        let actions = self.actions.into_iter().map(|Leaf(action)| action);
        Ok(Layer {
            mesh: mesh.kind,
            mesh_version: mesh.version,
            assume,
            scopes: scopes.collect::<Result<_, _>>()?,
            form: self.form,
            fail_on: fail_on.reduce(FailOn::or),
            required: is_required.then_some(RequiredVerdicts::All),
            rules: converted(self.rules, child("rules"), names)?,
            ignore: ignore.collect::<Result<_, _>>()?,
            baseline: self.baseline,
            context: self.context.into_iter().map(|Leaf(path)| path).collect(),
            root: self.root,
            renders_charts: self.helm.map(|RendersCharts(renders)| renders),
            actions: Some(actions.collect()).filter(|all: &BTreeSet<_>| !all.is_empty()),
            emit: self.emit,
            ..Layer::default()
        })
    }
}

impl ScopeEntry {
    /// Converts the entry. The caller sets its folders, because the object does not contain its location.
    fn converted(self, node: Option<NodeRef<'_>>, names: &RuleNames) -> Result<Scope, ConfigError> {
        let child = |key: &str| node.and_then(|node| node.get(key));
        let paths = child("paths");
        let line = |at| paths.and_then(|paths| paths.item(at)).map_or(0, line_of);
        Ok(Scope {
            lines: (0..self.paths.len()).map(line).collect(),
            paths: self.paths.into_iter().map(|Leaf(glob)| glob).collect(),
            assume: self.assume.unwrap_or_default(),
            overrides: self.r#override.unwrap_or_default(),
            rules: converted(self.rules, child("rules"), names)?,
            ..Scope::default()
        })
    }
}

impl IgnoreEntry {
    /// Converts the entry. The caller sets its folders.
    fn converted(
        self,
        node: Option<NodeRef<'_>>,
        names: &RuleNames,
    ) -> Result<Ignore, ConfigError> {
        let at = |key: &str, message: String| {
            let value = node.and_then(|node| node.get(key)).or(node);
            error(value.map_or(Span::empty(0), NodeRef::span), message)
        };
        let rule = names.parse_reported(&self.rule);
        let rule = rule.map_err(|unknown| at("rule", unknown.or_setting_of_guard()))?;
        let reason = self.reason.0.trim();
        if reason.is_empty() {
            let message = "an entry of `ignore` requires a `reason`";
            return Err(at("reason", message.to_owned()));
        }
        Ok(Ignore {
            rule,
            scope: Scope {
                paths: self.path.into_iter().collect(),
                ..Scope::default()
            },
            reason: reason.to_owned(),
            line: node.map_or(0, line_of),
        })
    }
}

/// Converts levels of rules.
fn converted(
    levels: Option<Levels>,
    node: Option<NodeRef<'_>>,
    names: &RuleNames,
) -> Result<BTreeMap<RuleId, RuleLevel>, ConfigError> {
    let levels = levels.into_iter().flatten();
    levels
        .map(|(id, Leaf(level))| match names.parse(&id) {
            Ok(rule) => Ok((rule, level)),
            Err(message) => {
                let key = node.and_then(|node| Some(node.entry(&id)?.key)).or(node);
                Err(error(key.map_or(Span::empty(0), NodeRef::span), message))
            }
        })
        .collect()
}

/// Returns the line of a node, from 1.
fn line_of(node: NodeRef<'_>) -> usize {
    let text = node.tree().text();
    LineIndex::new(text).position(text, node.span().start).line
}
