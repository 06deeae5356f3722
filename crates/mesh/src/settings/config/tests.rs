use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_yaml as yaml;
use meshprobe_yaml::Span;
use serde_json::Value;

use super::*;
use crate::finding::{RuleId, rule_id};
use crate::settings::{Action, InjectionAssumption, Version};

const REDUNDANT: RuleId = rule_id!("redundant-rewrite-annotation");
const SYNTAX_ERROR: RuleId = rule_id!("syntax-error");

fn read_text(text: &str) -> Result<Layer, Vec<(String, String)>> {
    let text: Arc<str> = Arc::from(text);
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
        .unwrap()
        .unwrap();
    let names = RuleNames::new([REDUNDANT, SYNTAX_ERROR]);
    parse(tree.root().unwrap(), &names).map_err(|errors| {
        let shown = |error: ConfigError| (error.span.slice(&text).to_owned(), error.message);
        errors.into_iter().map(shown).collect()
    })
}

fn spec(text: &str) -> Result<Layer, Vec<(String, String)>> {
    read_text(&format!(
        "apiVersion: {API_VERSION}\nkind: {KIND}\nmetadata: {{name: x}}\nspec:\n{text}"
    ))
}

#[test]
fn a_config_map_has_the_same_settings_as_an_object() {
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
fn errors_have_a_position_and_a_suggestion() {
    for (text, place, part) in [
        ("msh: {}", "msh", "unknown key `msh`; did you mean `mesh`"),
        ("mesh: {kinds: istio}", "kinds", "did you mean `kind`"),
        (
            "mesh: {version: [1]}",
            "[1]",
            "`mesh.version`: invalid type: sequence, expected a string",
        ),
        ("mesh: {version: 1.30}", "1.30", "write \"1.30\" in quotes"),
        (
            "mesh: [a]",
            "[a]",
            "`mesh`: invalid type: sequence, expected a mapping",
        ),
        ("failOn: eror", "eror", "did you mean `error`"),
        ("failOn: off", "off", "unknown level `off`; expected one of"),
        (
            "mesh: {kind: on}",
            "on",
            "unknown mesh `on`; expected one of",
        ),
        (
            "mesh: {revision: off}",
            "off",
            "invalid type: boolean `off`, expected a string; write \"off\" in quotes",
        ),
        ("mesh: {revision: 1.0}", "1.0", "write \"1.0\" in quotes"),
        (
            "assume: {cni: yes}",
            "yes",
            "expected `true` or `false`, found `yes`",
        ),
        ("failOn:", "", "invalid type: null"),
        ("failOn: []", "[]", "`failOn`: must not be empty"),
        (
            "rules: {sintax-error: ignore}",
            "sintax-error",
            "did you mean `syntax-error`",
        ),
        (
            "rules: {syntax-error: off}",
            "off",
            "unknown level `off`; expected one of `error`, `warning`, `note`, `ignore`",
        ),
        ("assume: {mtls: STRIKT}", "STRIKT", "did you mean `STRICT`"),
        (
            "ignore: [{rule: sintax-error, reason: x}]",
            "sintax-error",
            "did you mean `syntax-error`",
        ),
        ("ignore: [{pth: y}]", "pth", "did you mean `path`"),
        (
            "ignore: [{rule: syntax-error, reason: \" \"}]",
            "\" \"",
            "requires a `reason`",
        ),
        ("ignore: [{reason: z, path: /x}]", "/x", "not a path below"),
        (
            "ignore: [{reason: z}]",
            "{reason: z}",
            "missing field `rule`",
        ),
        (
            "scopes: [{paths: [\"a/[\"]}]",
            "\"a/[\"",
            "`scopes[0].paths[0]`: `a/[` is not a valid glob",
        ),
        ("scopes: [{assum: {}}]", "assum", "did you mean `assume`"),
        (
            "scopes: [{paths: [a], rules: {sintax-error: note}}]",
            "sintax-error",
            "did you mean `syntax-error`",
        ),
        (
            "scopes: [{assume: {mtsl: STRICT}}]",
            "mtsl",
            "did you mean `mtls`",
        ),
        (
            "scopes: [{rules: {}}]",
            "{rules: {}}",
            "missing field `paths`",
        ),
        (
            "scopes: [{paths: [a], override: {rewrite: 1}}]",
            "1",
            "`true` or `false`",
        ),
        (
            "actions: check",
            "check",
            "`actions`: invalid type: string \"check\", expected a sequence",
        ),
        ("actions: []", "[]", "`actions`: must not be empty"),
    ] {
        let errors = spec(&format!("  {text}\n")).unwrap_err();
        let [(span, message)] = errors.as_slice() else {
            panic!("{errors:?}");
        };
        assert_eq!(span, place, "{text}");
        assert!(message.contains(part), "{text}: {message}");
    }
    let errors = spec("  form: auto\n  form: container\n").unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn other_objects_are_rejected() {
    let errors = read_text("apiVersion: v1\nkind: Pod\nspec: {}\nx: 1\n").unwrap_err();
    assert_eq!(errors[0].0, "v1", "{errors:?}");
    assert!(errors[0].1.contains("expected `apiVersion: "), "{errors:?}");
    assert!(read_text("[1]\n").is_err());
    assert_eq!(spec("").unwrap(), Layer::default());
}

/// An integer is a text as it is written: `0777` is a name, and not the number 511.
#[test]
fn integers_without_quotes_keep_their_text() {
    let layer = spec(
        "  baseline: 0777\n  context: [0x7, 2024_01]\n  mesh: {revision: +128, rootNamespace: 7}\n  assume: {status-port: 015020}\n",
    )
    .unwrap();
    assert_eq!(layer.baseline.as_deref(), Some("0777"));
    assert_eq!(layer.context, ["0x7", "2024_01"]);
    assert_eq!(layer.assume.revisions, ["+128"]);
    assert_eq!(layer.assume.root_namespace.as_deref(), Some("7"));
    assert_eq!(layer.assume.status_port, Some(15020));
}

#[test]
fn booleans_of_a_config_map_are_read_in_any_case() {
    let text = "apiVersion: v1\nkind: ConfigMap\ndata: {assume.cni: True, assume.rewrite: FALSE}\n";
    let layer = read_text(text).unwrap();
    assert_eq!(
        (layer.assume.cni, layer.assume.rewrite),
        (Some(true), Some(false))
    );
    assert_eq!(
        spec("  assume: {cni: True}\n").unwrap().assume.cni,
        Some(true)
    );
}

#[test]
fn a_missing_head_names_the_value_to_write() {
    let errors = read_text("kind: MeshProbe\nspec: {}\n").unwrap_err();
    assert_eq!(errors[0].1, "expected `apiVersion: meshprobe.dev/v1alpha1`");
    let errors = read_text("apiVersion: meshprobe.dev/v1alpha1\nkind: Mesh\n").unwrap_err();
    assert_eq!(
        errors[0],
        ("Mesh".to_owned(), "expected `kind: MeshProbe`".to_owned())
    );
}

#[test]
fn a_root_is_declared_with_a_boolean() {
    assert_eq!(spec("  root: true\n").unwrap().root, Some(true));
    assert_eq!(spec("  root: \"false\"\n").unwrap().root, Some(false));
    assert!(spec("  root: maybe\n").is_err());
    let errors =
        read_text("apiVersion: v1\nkind: ConfigMap\ndata: {root: \"true\"}\n").unwrap_err();
    assert!(errors[0].1.contains("cannot be set in a ConfigMap"));
}

/// An editor shows the description of each key.
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
