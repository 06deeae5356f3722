//! Reads the configuration object: `.meshprobe.yaml`, or the functionConfig of a KRM call.
//!
//! The same keys come in two shapes: nested under `spec`, or as strings in the `data` of a
//! ConfigMap, where a key is the path (`mesh.version`) and a list is separated by commas.

mod ignores;
mod schema;
mod scopes;

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
use crate::yaml::{Entry, Kind, NodeRef, Scalar, Span};

use super::layer::{Action, Emit, Layer};
use super::suggest::not_one_of;
use super::{FailOn, Form, MESHES, MeshKind, RuleLevel};

pub use schema::schema;

/// The API version of the configuration object.
pub const API_VERSION: &str = "meshprobe.dev/v1alpha1";

/// The kind of the configuration object.
pub const KIND: &str = "MeshProbe";

const OBJECT_KEYS: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
const SPEC_KEYS: &[&str] = &[
    "actions", "assume", "context", "emit", "failOn", "form", "ignore", "mesh", "rules", "scopes",
];
const MESH_KEYS: &[&str] = &["kind", "revision", "rootNamespace", "version"];
const CONFIG_MAP_KEYS: &[&str] = &["apiVersion", "data", "immutable", "kind", "metadata"];

// The words that values are made of; the schema is made from the same lists.
const ACTIONS: &[&str] = &["check", "rewrite"];
const EMITS: &[&str] = &["items", "none"];
const FAIL_LEVELS: &[&str] = &["error", "warning", "note", "never"];
const RULE_LEVELS: &[&str] = &["error", "warning", "note", "ignore"];

/// Something wrong in a configuration object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key or value at fault, in bytes of the file.
    pub span: Span,
    /// What is wrong.
    pub message: String,
}

/// Reads a configuration object. `known_rules` are the ids that `rules` may name; of them, `found` are
/// those that `ignore` may name: what `check` reports.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(
    object: NodeRef<'_>,
    known_rules: &[&str],
    found: &[&str],
) -> Result<Layer, Vec<Problem>> {
    let mut reader = Reader {
        layer: Layer::default(),
        problems: Vec::new(),
        known_rules,
        found,
    };
    reader.duplicates(object);
    reader.object(object);
    if reader.problems.is_empty() {
        Ok(reader.layer)
    } else {
        Err(reader.problems)
    }
}

struct Reader<'a> {
    layer: Layer,
    problems: Vec<Problem>,
    known_rules: &'a [&'a str],
    found: &'a [&'a str],
}

impl Reader<'_> {
    fn object(&mut self, object: NodeRef<'_>) {
        if !object.is_mapping() {
            return self.problem(
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
                Some("apiVersion" | "kind" | "metadata") => {}
                Some("spec") => self.spec(entry.value),
                _ => self.unknown(entry.key, OBJECT_KEYS),
            }
        }
    }

    /// Keys that are written twice: nobody can tell which of the two is meant.
    fn duplicates(&mut self, node: NodeRef<'_>) {
        // What an alias stands for is looked at where it is written; it may hold the alias.
        if node.kind() == Kind::Alias {
            return;
        }
        let mut seen = BTreeMap::new();
        for entry in node.entries() {
            let key = entry.key.text().unwrap_or_default();
            if let Some(first) = seen.insert(key, entry.key.span()) {
                self.problem(first, format!("the key `{key}` is there twice: here first"));
                self.problem(entry.key.span(), format!("the key `{key}` again"));
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
            self.problem(span, format!("expected `{key}: {wanted}`"));
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
                key @ ("form" | "failOn" | "emit") => self.scalar(key, value),
                "scopes" => self.scopes(value),
                "ignore" => self.ignores(value),
                _ => self.unknown(entry.key, SPEC_KEYS),
            }
        }
    }

    /// `data` of a ConfigMap: strings only.
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
                ("actions" | "context", "") => {
                    let Some(text) = entry.value.text() else {
                        self.scalar(path, entry.value);
                        continue;
                    };
                    let parts = text.split(',').map(str::trim);
                    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
                    for part in &parts {
                        self.leaf(head, part, entry.value.span());
                    }
                    self.close_list(head, parts.len(), entry.value.span());
                }
                ("form" | "failOn" | "emit", "") => self.scalar(path, entry.value),
                (_, key) if is_cut_version(key, entry.value) && !has_short_releases(data) => {
                    self.cut_version(path, entry.value);
                }
                ("mesh", key) if MESH_KEYS.contains(&key) => self.scalar(path, entry.value),
                ("assume" | "rules", key) if !key.is_empty() => self.keyed(path, entry),
                ("scopes" | "ignore", _) => {
                    let message = format!("`{head}` is no string: give an object of kind `{KIND}`");
                    self.problem(entry.key.span(), message);
                }
                ("mesh", _) => {
                    let known: Vec<String> =
                        MESH_KEYS.iter().map(|key| format!("mesh.{key}")).collect();
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    self.unknown(entry.key, &known);
                }
                ("assume" | "rules", _) => {
                    let message = format!("`{head}` is no string: give `{head}.KEY`");
                    self.problem(entry.key.span(), message);
                }
                _ => self.unknown(entry.key, SPEC_KEYS),
            }
        }
    }

    /// A value whose key is free; a mistake may lie in the key as well.
    fn keyed(&mut self, path: &str, entry: Entry<'_>) {
        let span = Span::new(entry.key.span().start, entry.value.span().end);
        match entry.value.text() {
            Some(text) => self.leaf(path, text, span),
            None => self.problem(entry.value.span(), format!("`{path}` takes a string")),
        }
    }

    fn scalar(&mut self, path: &str, value: NodeRef<'_>) {
        match value.text() {
            Some(text) if !value.is_null() => self.leaf(path, text, value.span()),
            _ => self.problem(value.span(), format!("`{path}` takes a string")),
        }
    }

    fn list(&mut self, path: &str, value: NodeRef<'_>) {
        if !value.is_sequence() {
            return self.problem(value.span(), format!("`{path}` takes a list"));
        }
        for item in value.items() {
            self.scalar(path, item);
        }
        self.close_list(path, value.items().len(), value.span());
    }

    /// Without an action nothing would be done, and nobody would notice.
    fn close_list(&mut self, path: &str, length: usize, span: Span) {
        if path == "actions" && length == 0 {
            let message = "`actions` is empty, so nothing would be done: name `check`, `rewrite` or both, or leave it out";
            self.problem(span, message.to_owned());
        }
    }

    fn bare_version(&mut self, path: &str, value: NodeRef<'_>) {
        let text = value.text().unwrap_or_default();
        let message = format!("`{path}` takes a string: write \"{text}\" in quotes");
        self.problem(value.span(), message);
    }

    fn cut_version(&mut self, path: &str, value: NodeRef<'_>) {
        let text = value.text().unwrap_or_default();
        let message = format!(
            "`{path}` is a number: kustomize makes {text} of {text}0; write the release in quotes"
        );
        self.problem(value.span(), message);
    }

    fn leaf(&mut self, path: &str, text: &str, span: Span) {
        if let Err(message) = self.set(path, text) {
            self.problem(span, message);
        }
    }

    fn set(&mut self, path: &str, text: &str) -> Result<(), String> {
        let layer = &mut self.layer;
        match path.split_once('.').unwrap_or((path, "")) {
            ("mesh", "kind") => layer.mesh = Some(MeshKind::read(text)?),
            ("mesh", "version") => layer.mesh_version = Some(text.parse()?),
            ("mesh", "rootNamespace") => layer.assume.set("root-namespace", text)?,
            ("mesh", "revision") => layer.assume.set("revision", text)?,
            ("assume", key) => layer.assume.set(key, text)?,
            ("form", _) => layer.form = Some(form(text)?),
            ("failOn", _) => layer.fail_on = Some(fail_on(text)?),
            ("emit", _) => layer.emit = Some(emit(text)?),
            ("context", _) => layer.context.push(text.to_owned()),
            ("actions", _) => {
                let action = action(text)?;
                layer
                    .actions
                    .get_or_insert_with(BTreeSet::new)
                    .insert(action);
            }
            ("rules", id) => {
                let level = rule_level(id, text, self.known_rules)?;
                layer.rules.insert(id.to_owned(), level);
            }
            _ => return Err(not_one_of("key", path, SPEC_KEYS)),
        }
        Ok(())
    }

    /// The entries of a mapping; a problem where there is none. An empty value is an empty one.
    fn mapping<'t>(&mut self, node: NodeRef<'t>, name: &str) -> Vec<Entry<'t>> {
        if !node.is_mapping() && !node.is_null() {
            self.problem(node.span(), format!("`{name}` takes a mapping"));
        }
        node.entries().collect()
    }

    fn unknown(&mut self, key: NodeRef<'_>, known: &[&str]) {
        let given = key.text().unwrap_or_default();
        self.problem(key.span(), not_one_of("key", given, known));
    }

    fn problem(&mut self, span: Span, message: String) {
        self.problems.push(Problem { span, message });
    }
}

/// Tells whether a value in a ConfigMap may be what is left of a release: a number with one digit
/// behind the point. `kustomize fn run` and kpt make the ConfigMap from arguments and leave the text
/// as it was typed, so 1.30 is what the user wrote; `kustomize build` reads it from a file, and hands
/// 1.30 over as 1.3 (seen with 5.8.2).
fn is_cut_version(key: &str, value: NodeRef<'_>) -> bool {
    let minor = value.text().and_then(|text| text.split_once('.'));
    is_bare_version(key, value) && minor.is_some_and(|(_, minor)| minor.len() == 1)
}

/// The last release of Open Service Mesh is 1.2: no digit can be missing there.
fn has_short_releases(data: NodeRef<'_>) -> bool {
    data.get("mesh.kind").and_then(NodeRef::text) == Some("osm")
}

/// A release without quotes is a number, and kustomize hands 1.30 over as 1.3.
fn is_bare_version(key: &str, value: NodeRef<'_>) -> bool {
    matches!(key, "version" | "node-version")
        && matches!(
            value.scalar(),
            Some(Scalar::Float(_) | Scalar::Int(_) | Scalar::UInt(_))
        )
}

fn form(text: &str) -> Result<Form, String> {
    let mut forms = Form::ALL.into_iter();
    forms
        .find(|form| form.as_str() == text)
        .ok_or_else(|| not_one_of("form", text, &Form::ALL.map(Form::as_str)))
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    if text == "never" {
        return Ok(FailOn::Never);
    }
    severity(text)
        .map(FailOn::Severity)
        .ok_or_else(|| not_one_of("level", text, FAIL_LEVELS))
}

fn rule_level(id: &str, text: &str, known: &[&str]) -> Result<RuleLevel, String> {
    if known.contains(&id) {
        level(text)
    } else {
        Err(not_one_of("rule", id, known))
    }
}

fn level(text: &str) -> Result<RuleLevel, String> {
    if text == "ignore" {
        return Ok(RuleLevel::Ignore);
    }
    severity(text)
        .map(RuleLevel::Severity)
        .ok_or_else(|| not_one_of("level", text, RULE_LEVELS))
}

fn severity(text: &str) -> Option<Severity> {
    [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .find(|severity| severity.as_str() == text)
}

fn emit(text: &str) -> Result<Emit, String> {
    match text {
        "items" => Ok(Emit::Items),
        "none" => Ok(Emit::None),
        _ => Err(not_one_of("value of `emit`", text, EMITS)),
    }
}

fn action(text: &str) -> Result<Action, String> {
    match text {
        "check" => Ok(Action::Check),
        "rewrite" => Ok(Action::Rewrite),
        _ => Err(not_one_of("action", text, ACTIONS)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::settings::{InjectionAssumption, Version};
    use crate::yaml;

    fn read_text(text: &str) -> Result<Layer, Vec<(String, String)>> {
        let text: Arc<str> = Arc::from(text);
        let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
            .unwrap()
            .unwrap();
        let known = ["redundant-rewrite-annotation", "syntax-error"];
        read(tree.root().unwrap(), &known, &known).map_err(|problems| {
            let shown = |problem: Problem| (problem.span.slice(&text).to_owned(), problem.message);
            problems.into_iter().map(shown).collect()
        })
    }

    fn spec(text: &str) -> Result<Layer, Vec<(String, String)>> {
        read_text(&format!(
            "apiVersion: {API_VERSION}\nkind: {KIND}\nmetadata: {{name: x}}\nspec:\n{text}"
        ))
    }

    #[test]
    fn both_shapes_say_the_same() {
        let nested = spec(
            "  mesh: {kind: istio, version: \"1.30\", rootNamespace: mesh, revision: canary}\n  actions: [check]\n  form: annotation\n  failOn: never\n  emit: none\n  context: [\".\", ../x]\n  assume: {injection: all}\n  rules: {syntax-error: ignore}\n",
        )
        .unwrap();
        let flat = read_text(
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  mesh.kind: istio\n  mesh.version: '1.30'\n  mesh.rootNamespace: mesh\n  mesh.revision: canary\n  actions: check\n  form: annotation\n  failOn: never\n  emit: none\n  context: ., ../x\n  assume.injection: all\n  rules.syntax-error: ignore\n",
        )
        .unwrap();
        assert_eq!(nested, flat);
        assert_eq!(nested.mesh_version, Some(Version::new(1, 30)));
        assert_eq!(nested.assume.injection, Some(InjectionAssumption::All));
        assert_eq!(nested.actions, Some(BTreeSet::from([Action::Check])));
    }

    #[test]
    fn mistakes_have_a_place_and_a_suggestion() {
        let problems = spec(
            "  msh: {}\n  mesh: {kinds: istio, version: [1]}\n  failOn: eror\n  rules: {sintax-error: ignore, syntax-error: off}\n  assume: {mtls: STRIKT}\n  ignore: [{rule: sintax-error, reason: x, pth: y}, {rule: syntax-error, reason: \" \"}, {reason: z, path: /x}]\n  scopes: [{paths: [\"a/[\"], assum: {}, rules: {sintax-error: note}}, {assume: {mtsl: STRICT}}, {paths: [a], override: {rewrite: 1}}]\n  actions: check\n",
        )
        .unwrap_err();
        let wanted = [
            ("msh", "did you mean `mesh`"),
            ("kinds", "did you mean `kind`"),
            ("[1]", "`mesh.version` takes a string"),
            ("eror", "did you mean `error`"),
            ("sintax-error: ignore", "did you mean `syntax-error`"),
            ("syntax-error: off", "unknown level `off`"),
            ("mtls: STRIKT", "did you mean `STRICT`"),
            ("sintax-error", "did you mean `syntax-error`"),
            ("pth", "did you mean `path`"),
            ("\" \"", "needs a `reason`"),
            ("/x", "no path below"),
            ("{reason: z, path: /x}", "needs a `rule`"),
            ("\"a/[\"", "is no glob"),
            ("assum", "did you mean `assume`"),
            ("sintax-error", "did you mean `syntax-error`"),
            ("mtsl", "did you mean `mtls`"),
            ("{assume: {mtsl: STRICT}}", "needs `paths`"),
            ("rewrite", "`true` or `false`"),
            ("check", "`actions` takes a list"),
        ];
        assert_eq!(problems.len(), wanted.len(), "{problems:?}");
        for ((span, message), (place, part)) in problems.iter().zip(wanted) {
            assert_eq!(span, place);
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn other_objects_are_refused() {
        let problems = read_text("apiVersion: v1\nkind: Pod\nspec: {}\nx: 1\n").unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(read_text("[1]\n").is_err());
        assert_eq!(spec("").unwrap(), Layer::default());
    }
}
