//! Code actions: their edits are those of the command line.

use serde_json::{Value, json};

use super::editor::{Editor, edited};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::project::Project;

fn titled<'a>(actions: &'a [Value], start: &str) -> &'a Value {
    let is_titled = |action: &&Value| action["title"].as_str().unwrap().starts_with(start);
    actions
        .iter()
        .find(is_titled)
        .unwrap_or_else(|| panic!("no {start:?} in {actions:#?}"))
}

fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap()
}

/// A probe with a port in quotes, which has a safe fix.
fn quoted() -> String {
    PROBED.replace("port: 8080", "port: '8080'")
}

#[test]
fn a_safe_fix_is_preferred_and_writes_what_check_writes() {
    let web = quoted();
    let project = Project::with(&[("mesh.yaml", INJECTED), ("web.yaml", &web)]);
    let mut editor = Editor::open(&project);
    let actions = editor.actions("web.yaml", line_of(&web, "livenessProbe"));
    let fix = actions
        .iter()
        .find(|action| action["isPreferred"] == true)
        .unwrap();
    assert_eq!(fix["kind"], "quickfix");
    let text = edited(&editor, "web.yaml", &web, &fix["edit"]);
    project.run(&["check", "--fix", "."]);
    assert_eq!(text, project.read("web.yaml"));
    assert_ne!(text, web);
}

#[test]
fn an_unsafe_fix_is_labelled() {
    let policy = "apiVersion: authentication.istio.io/v1alpha1\nkind: Policy\nmetadata: {name: default, namespace: shop}\nspec: {peers: [{mtls: {}}]}\n";
    let project = Project::with(&[("mesh.yaml", INJECTED), ("policy.yaml", policy)]);
    let mut editor = Editor::open(&project);
    let actions = editor.actions("policy.yaml", 0);
    let fix = titled(&actions, "convert it to a PeerAuthentication (unsafe: ");
    assert_eq!(fix["isPreferred"], false);
    let text = edited(&editor, "policy.yaml", policy, &fix["edit"]);
    project.run(&["check", "--fix", "--unsafe-fixes", "."]);
    assert_eq!(text, project.read("policy.yaml"));
    assert_ne!(text, policy);
}

#[test]
fn a_suppression_is_the_one_of_add_ignore() {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", NOT_REWRITTEN),
    ]);
    let mut editor = Editor::open(&project);
    let actions = editor.actions("web.yaml", line_of(NOT_REWRITTEN, "readinessProbe"));
    let ignore = titled(&actions, "Ignore `strict-probe-not-rewritten` here");
    let text = edited(&editor, "web.yaml", NOT_REWRITTEN, &ignore["edit"]);
    project.run(&["check", "--add-ignore", "TODO: explain why", "."]);
    assert_eq!(text, project.read("web.yaml"));
}

#[test]
fn the_reason_of_a_suppression_is_selected_if_the_client_supports_it() {
    let web = NOT_REWRITTEN.replace("readinessProbe", "\"readinessProbe\"");
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", &web),
    ]);
    let with = json!({ "documentChanges": true, "snippetEditSupport": true });
    let without = json!({ "documentChanges": true });
    let mut texts = Vec::new();
    for edits in [with, without] {
        let capabilities = json!({ "workspace": { "workspaceEdit": edits } });
        let mut editor = Editor::open_with(&project, capabilities, json!({}));
        let actions = editor.actions("web.yaml", line_of(&web, "readinessProbe"));
        let ignore = titled(&actions, "Ignore `strict-probe-not-rewritten` here");
        let edit = &ignore["edit"]["documentChanges"][0]["edits"][0];
        // A snippet at the start of a line keeps its own indentation.
        assert_eq!(edit["range"]["start"]["character"], 0);
        texts.push(edit.clone());
    }
    let comment = "    # meshprobe: ignore[strict-probe-not-rewritten] ";
    assert_eq!(
        texts[0]["snippet"],
        json!({ "kind": "snippet", "value": format!("{comment}${{0:TODO: explain why}}\n") })
    );
    assert_eq!(texts[1]["newText"], format!("{comment}TODO: explain why\n"));
}

#[test]
fn all_safe_fixes_of_a_document_are_those_of_check_on_this_file() {
    let web = join(&[&quoted(), &quoted().replace("name: web\n", "name: api\n")]);
    let project = Project::with(&[
        ("mesh.yaml", INJECTED),
        ("web.yaml", &web),
        ("other.yaml", &quoted()),
    ]);
    let mut editor = Editor::open(&project);
    let actions = editor.actions_of_kind("web.yaml", 0, json!(["source.fixAll"]));
    let fix = titled(&actions, "Fix all safe findings");
    assert_eq!(fix["kind"], "source.fixAll.meshprobe");
    let text = edited(&editor, "web.yaml", &web, &fix["edit"]);
    project.run(&["check", "--fix", "web.yaml"]);
    assert_eq!(text, project.read("web.yaml"));
}

#[test]
fn one_pod_of_a_file_is_rewritten_and_restored() {
    let other = PROBED.replace("name: web,", "name: api,");
    let web = join(&[&other, PROBED]);
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", &web),
    ]);
    let capabilities = json!({ "textDocument": { "codeAction": { "resolveSupport": { "properties": ["edit"] } } } });
    let mut editor = Editor::open_with(&project, capabilities, json!({ "meshVersion": "1.28" }));
    let line = web.lines().count() - 1;
    let actions = editor.actions("web.yaml", line);
    let rewrite = titled(&actions, "Rewrite the probes").clone();
    assert!(rewrite.get("edit").is_none());
    let rewrite = editor.request("codeAction/resolve", rewrite).unwrap();
    let text = edited(&editor, "web.yaml", &web, &rewrite["edit"]);
    // The other pod is unchanged.
    assert!(text.starts_with(&other));
    project.write("web.yaml", PROBED);
    project
        .run(&["rewrite", "--write", "--mesh-version", "1.28", "web.yaml"])
        .exits(0);
    assert_eq!(text, join(&[&other, &project.read("web.yaml")]));
    project.write("web.yaml", &text);
    editor.changed_on_disk("web.yaml", 2);
    editor.settle();
    let actions = editor.actions("web.yaml", text.lines().count() - 1);
    let undo = titled(&actions, "Undo the rewrite").clone();
    let undo = editor.request("codeAction/resolve", undo).unwrap();
    assert_eq!(edited(&editor, "web.yaml", &text, &undo["edit"]), web);
}

#[test]
fn edits_name_the_version_of_the_document() {
    let web = quoted();
    let project = Project::with(&[("mesh.yaml", INJECTED), ("web.yaml", &web)]);
    let capabilities = json!({ "workspace": { "workspaceEdit": { "documentChanges": true } } });
    let mut editor = Editor::open_with(&project, capabilities, json!({}));
    editor.open_document("web.yaml", &web);
    editor.change("web.yaml", &format!("# ü\n{web}"));
    editor.settle();
    let actions = editor.actions("web.yaml", line_of(&web, "livenessProbe") + 1);
    let fix = actions
        .iter()
        .find(|action| action["isPreferred"] == true)
        .unwrap();
    assert_eq!(
        fix["edit"]["documentChanges"][0]["textDocument"]["version"],
        2
    );
}
