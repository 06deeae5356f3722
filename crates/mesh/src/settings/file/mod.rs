//! Parses the configuration object: `.meshprobe.yaml`, or the functionConfig of a KRM call.
//!
//! The keys have two forms: nested under `spec`, or as strings in the `data` of a ConfigMap, where the key is the path
//! (`mesh.version`) and the items of a list are separated by commas.

mod ignores;

mod schema;

mod scopes;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_yaml::{Entry, Kind, LineIndex, NodeRef, Span};

use super::layer::Layer;
use super::suggest::unknown_value_message;
use super::{MeshKind, RequiredVerdicts, RuleNames};
use values::{
    NOT_JUDGED, action, boolean, emit, fail_on, form, has_short_releases, helm, is_bare_version,
    is_cut_version, rule_level, setting_text,
};

pub use schema::schema;

/// The API version of the configuration object.
pub const API_VERSION: &str = "meshprobe.dev/v1alpha1";

/// The kind of the configuration object.
pub const KIND: &str = "MeshProbe";

const OBJECT_KEYS: &[&str] = &["apiVersion", "kind", "metadata", "spec"];

const SPEC_KEYS: &[&str] = &[
    "actions", "assume", "baseline", "context", "emit", "failOn", "form", "helm", "ignore", "mesh",
    "root", "rules", "scopes",
];

const MESH_KEYS: &[&str] = &["kind", "revision", "rootNamespace", "version"];

const CONFIG_MAP_KEYS: &[&str] = &["apiVersion", "data", "immutable", "kind", "metadata"];

/// An error in a configuration object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The byte range of the invalid key or value.
    pub span: Span,
    /// The error message.
    pub message: String,
}

/// Parses a configuration object. `rules` may contain all of `names`, and `ignore` those that `check` reports.
///
/// # Errors
/// All errors of the object.
pub fn parse(object: NodeRef<'_>, names: &RuleNames) -> Result<Layer, Vec<ConfigError>> {
    let mut reader = Reader {
        layer: Layer::default(),
        errors: Vec::new(),
        names,
    };
    reader.duplicates(object);
    reader.object(object);
    if reader.errors.is_empty() {
        Ok(reader.layer)
    } else {
        Err(reader.errors)
    }
}

struct Reader<'a> {
    layer: Layer,
    errors: Vec<ConfigError>,
    names: &'a RuleNames,
}

impl Reader<'_> {
    fn object(&mut self, object: NodeRef<'_>) {
        if !object.is_mapping() {
            return self.error(
                object.span(),
                format!("expected an object of kind `{KIND}`"),
            );
        }
        let text = |key: &str| object.get(key).and_then(NodeRef::text);
        if text("kind") == Some("ConfigMap") && text("apiVersion") == Some("v1") {
            return self.config_map(object);
        }
        self.expect(object, "apiVersion", API_VERSION);
        self.expect(object, "kind", KIND);
        for entry in object.entries() {
            match entry.key.text() {
                Some("apiVersion" | "kind") => {}
                Some("metadata") => {
                    self.mapping(entry.value, "metadata");
                }
                Some("spec") => self.spec(entry.value),
                _ => self.unknown(entry.key, OBJECT_KEYS),
            }
        }
    }

    /// Reports duplicate keys, because it is not known which of the two the user wants.
    fn duplicates(&mut self, node: NodeRef<'_>) {
        // The target of an alias is checked at its anchor; it may contain the alias itself.
        if node.kind() == Kind::Alias {
            return;
        }
        let mut seen = BTreeMap::new();
        for entry in node.entries() {
            let key = entry.key.text().unwrap_or_default();
            if let Some(first) = seen.insert(key, entry.key.span()) {
                self.error(first, format!("duplicate key `{key}`: first occurrence"));
                self.error(entry.key.span(), format!("duplicate key `{key}`"));
            }
            self.duplicates(entry.value);
        }
        for item in node.items() {
            self.duplicates(item);
        }
    }

    fn expect(&mut self, object: NodeRef<'_>, key: &str, wanted: &str) {
        let found = object.get(key);
        if found.and_then(NodeRef::text) != Some(wanted) {
            let span = found.map_or(Span::empty(object.span().start), NodeRef::span);
            self.error(span, format!("expected `{key}: {wanted}`"));
        }
    }

    fn spec(&mut self, spec: NodeRef<'_>) {
        for entry in self.mapping(spec, "spec") {
            let value = entry.value;
            match entry.key.text().unwrap_or_default() {
                "mesh" => {
                    for entry in self.mapping(value, "mesh") {
                        let key = entry.key.text().unwrap_or_default();
                        if is_bare_version(key, entry.value) {
                            self.bare_version(&format!("mesh.{key}"), entry.value);
                        } else if MESH_KEYS.contains(&key) {
                            self.scalar(&format!("mesh.{key}"), entry.value);
                        } else {
                            self.unknown(entry.key, MESH_KEYS);
                        }
                    }
                }
                group @ ("assume" | "rules") => {
                    for entry in self.mapping(value, group) {
                        let key = entry.key.text().unwrap_or_default();
                        let path = format!("{group}.{key}");
                        if is_bare_version(key, entry.value) {
                            self.bare_version(&path, entry.value);
                        } else {
                            self.keyed(&path, entry);
                        }
                    }
                }
                list @ ("actions" | "context") => self.list(list, value),
                "failOn" if value.is_sequence() => self.list("failOn", value),
                key @ ("baseline" | "form" | "failOn" | "emit" | "helm" | "root") => {
                    self.scalar(key, value)
                }
                "scopes" => self.scopes(value),
                "ignore" => self.ignores(value),
                _ => self.unknown(entry.key, SPEC_KEYS),
            }
        }
    }

    /// Parses the `data` of a ConfigMap, which contains only strings.
    fn config_map(&mut self, object: NodeRef<'_>) {
        for entry in object.entries() {
            let key = entry.key.text().unwrap_or_default();
            if !CONFIG_MAP_KEYS.contains(&key) {
                self.unknown(entry.key, CONFIG_MAP_KEYS);
            }
        }
        let Some(data) = object.get("data") else {
            return;
        };
        for entry in self.mapping(data, "data") {
            let path = entry.key.text().unwrap_or_default();
            let (head, rest) = path.split_once('.').unwrap_or((path, ""));
            match (head, rest) {
                ("actions" | "context" | "failOn", "") => {
                    let Some(text) = entry.value.text() else {
                        self.scalar(path, entry.value);
                        continue;
                    };
                    let parts: Vec<&str> = text
                        .split(',')
                        .map(str::trim)
                        .filter(|part| !part.is_empty())
                        .collect();
                    for part in &parts {
                        self.leaf(head, part, entry.value.span());
                    }
                    self.close_list(head, parts.len(), entry.value.span());
                }
                ("form" | "emit", "") => self.scalar(path, entry.value),
                (_, key) if is_cut_version(key, entry.value) && !has_short_releases(data) => {
                    self.cut_version(path, entry.value);
                }
                ("mesh", key) if MESH_KEYS.contains(&key) => self.scalar(path, entry.value),
                ("assume" | "rules", key) if !key.is_empty() => self.keyed(path, entry),
                ("scopes" | "baseline" | "helm" | "ignore" | "root", _) => {
                    let message = format!(
                        "`{head}` cannot be set in a ConfigMap; use an object of kind `{KIND}`"
                    );
                    self.error(entry.key.span(), message);
                }
                ("mesh", _) => {
                    let known: Vec<String> =
                        MESH_KEYS.iter().map(|key| format!("mesh.{key}")).collect();
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    self.unknown(entry.key, &known);
                }
                ("assume" | "rules", _) => {
                    let message = format!("`{head}` cannot be set as a string; use `{head}.KEY`");
                    self.error(entry.key.span(), message);
                }
                _ => self.unknown(entry.key, SPEC_KEYS),
            }
        }
    }

    /// Parses an entry whose key is not fixed, so that an error can be in the key or the value.
    fn keyed(&mut self, path: &str, entry: Entry<'_>) {
        let span = Span::new(entry.key.span().start, entry.value.span().end);
        match setting_text(entry.value) {
            Some(text) => self.leaf(path, text, span),
            None => self.error(
                entry.value.span(),
                format!("expected a string for `{path}`"),
            ),
        }
    }

    fn scalar(&mut self, path: &str, value: NodeRef<'_>) {
        match setting_text(value) {
            Some(text) => self.leaf(path, text, value.span()),
            None => self.error(value.span(), format!("expected a string for `{path}`")),
        }
    }

    fn list(&mut self, path: &str, value: NodeRef<'_>) {
        if !value.is_sequence() {
            return self.error(value.span(), format!("expected a list for `{path}`"));
        }
        for item in value.items() {
            self.scalar(path, item);
        }
        self.close_list(path, value.items().len(), value.span());
    }

    /// Rejects an empty list of actions, with which the function would silently do nothing, and of levels.
    fn close_list(&mut self, path: &str, length: usize, span: Span) {
        let values = match path {
            "actions" => "`check`, `rewrite` or both",
            "failOn" => "a level",
            _ => return,
        };
        if length == 0 {
            let message = format!("`{path}` must not be empty; add {values}, or delete the key");
            self.error(span, message);
        }
    }

    fn bare_version(&mut self, path: &str, value: NodeRef<'_>) {
        let text = value.text().unwrap_or_default();
        let message = format!("expected a string for `{path}`; write \"{text}\" in quotes");
        self.error(value.span(), message);
    }

    fn cut_version(&mut self, path: &str, value: NodeRef<'_>) {
        let text = value.text().unwrap_or_default();
        let message = format!(
            "expected a string for `{path}`, found a number: kustomize changes {text}0 to {text}; \
             write the release in quotes"
        );
        self.error(value.span(), message);
    }

    fn leaf(&mut self, path: &str, text: &str, span: Span) {
        if let Err(message) = self.set(path, text) {
            self.error(span, message);
        }
    }

    fn set(&mut self, path: &str, text: &str) -> Result<(), String> {
        let layer = &mut self.layer;
        match path.split_once('.').unwrap_or((path, "")) {
            ("mesh", "kind") => layer.mesh = Some(MeshKind::parse(text)?),
            ("mesh", "version") => layer.mesh_version = Some(text.parse()?),
            ("mesh", "rootNamespace") => layer.assume.set("root-namespace", text)?,
            ("mesh", "revision") => layer.assume.set("revision", text)?,
            ("assume", key) => layer.assume.set(key, text)?,
            ("form", _) => layer.form = Some(form(text)?),
            ("failOn", _) if text == NOT_JUDGED => layer.required = Some(RequiredVerdicts::All),
            ("failOn", _) => {
                let level = fail_on(text)?;
                layer.fail_on = Some(layer.fail_on.map_or(level, |other| other.or(level)));
            }
            ("emit", _) => layer.emit = Some(emit(text)?),
            ("baseline", _) if text.is_empty() => {
                return Err("expected a path for `baseline`, found an empty string".to_owned());
            }
            ("baseline", _) => layer.baseline = Some(text.to_owned()),
            ("helm", _) => layer.renders_charts = Some(helm(text)?),
            ("root", _) => layer.root = Some(boolean(text)?),
            ("context", _) if text.is_empty() => {
                return Err("expected a path for `context`, found an empty string".into());
            }
            ("context", _) => layer.context.push(text.to_owned()),
            ("actions", _) => {
                let action = action(text)?;
                layer
                    .actions
                    .get_or_insert_with(BTreeSet::new)
                    .insert(action);
            }
            ("rules", id) => {
                let (rule, level) = rule_level(id, text, self.names)?;
                layer.rules.insert(rule, level);
            }
            _ => return Err(unknown_value_message("key", path, SPEC_KEYS)),
        }
        Ok(())
    }

    /// Returns the entries of a mapping, and reports any other value. An empty value is an empty mapping.
    fn mapping<'t>(&mut self, node: NodeRef<'t>, name: &str) -> Vec<Entry<'t>> {
        if !node.is_mapping() && !node.is_null() {
            self.error(node.span(), format!("expected a mapping for `{name}`"));
        }
        node.entries().collect()
    }

    fn unknown(&mut self, key: NodeRef<'_>, known: &[&str]) {
        let given = key.text().unwrap_or_default();
        self.error(key.span(), unknown_value_message("key", given, known));
    }

    fn error(&mut self, span: Span, message: String) {
        self.errors.push(ConfigError { span, message });
    }
}

/// Returns the line of a node, from 1.
fn line_of(node: NodeRef<'_>) -> usize {
    let text = node.tree().text();
    LineIndex::new(text).position(text, node.span().start).line
}

#[cfg(test)]
mod tests;
