use std::sync::Arc;

use meshprobe_yaml as yaml;

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
    let errors = spec(
        "  msh: {}\n  mesh: {kinds: istio, version: [1]}\n  failOn: eror\n  rules: {sintax-error: ignore, syntax-error: off}\n  assume: {mtls: STRIKT}\n  ignore: [{rule: sintax-error, reason: x, pth: y}, {rule: syntax-error, reason: \" \"}, {reason: z, path: /x}]\n  scopes: [{paths: [\"a/[\"], assum: {}, rules: {sintax-error: note}}, {assume: {mtsl: STRICT}}, {paths: [a], override: {rewrite: 1}}]\n  actions: check\n",
    )
    .unwrap_err();
    let wanted = [
        ("msh", "did you mean `mesh`"),
        ("kinds", "did you mean `kind`"),
        ("[1]", "expected a string for `mesh.version`"),
        ("eror", "did you mean `error`"),
        ("sintax-error: ignore", "did you mean `syntax-error`"),
        ("syntax-error: off", "unknown level `off`"),
        ("mtls: STRIKT", "did you mean `STRICT`"),
        ("sintax-error", "did you mean `syntax-error`"),
        ("pth", "did you mean `path`"),
        ("\" \"", "requires a `reason`"),
        ("/x", "not a path below"),
        ("{reason: z, path: /x}", "requires a `rule`"),
        ("\"a/[\"", "is not a valid glob"),
        ("assum", "did you mean `assume`"),
        ("sintax-error", "did you mean `syntax-error`"),
        ("mtsl", "did you mean `mtls`"),
        ("{assume: {mtsl: STRICT}}", "requires `paths`"),
        ("rewrite", "`true` or `false`"),
        ("check", "expected a list for `actions`"),
    ];
    assert_eq!(errors.len(), wanted.len(), "{errors:?}");
    for ((span, message), (place, part)) in errors.iter().zip(wanted) {
        assert_eq!(span, place);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn other_objects_are_rejected() {
    let errors = read_text("apiVersion: v1\nkind: Pod\nspec: {}\nx: 1\n").unwrap_err();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(read_text("[1]\n").is_err());
    assert_eq!(spec("").unwrap(), Layer::default());
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
