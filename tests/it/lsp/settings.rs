//! Settings of the client and of the configuration.

use serde_json::json;

use super::editor::{Editor, write_and_report};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

const CONFIG: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n";

fn project() -> Project {
    Project::with(&[("mesh.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)])
}

#[test]
fn settings_of_the_client_are_options_of_check() {
    let project = project();
    let editor = Editor::open_with(&project, json!({}), json!({ "assume": ["mtls=STRICT"] }));
    assert!(editor.summary("web.yaml")[0].contains("strict-probe-not-rewritten"));
    let settings =
        json!({ "assume": { "mtls": "STRICT" }, "ignore": ["strict-probe-not-rewritten"] });
    let editor = Editor::open_with(&project, json!({}), settings);
    assert!(editor.summary("web.yaml").is_empty(), "{:?}", editor.shown);
}

#[test]
fn the_client_is_asked_for_settings_and_may_change_them() {
    let project = project();
    let mut editor = Editor::connect(&project);
    editor.settings = json!({ "assume": ["mtls=STRICT"] });
    let folder = json!([{ "uri": editor.uri(""), "name": "project" }]);
    editor.initialize(
        json!({ "workspace": { "configuration": true } }),
        json!({}),
        folder,
    );
    editor.settle();
    while editor.shown.is_empty() {
        editor.settle();
    }
    assert!(editor.summary("web.yaml")[0].contains("strict-probe-not-rewritten"));
    editor.settings = json!({ "assume": ["mtls=DISABLE"] });
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": null }),
    );
    for _ in 0..2 {
        editor.settle();
    }
    assert!(
        !editor
            .summary("web.yaml")
            .iter()
            .any(|line| line.contains("strict-probe-not-rewritten"))
    );
}

#[test]
fn options_of_the_server_apply_until_the_client_replaces_them() {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", NOT_REWRITTEN),
    ]);
    let mut editor = Editor::connect_with(&project, &["--select", "tcp-probe-always-passes"]);
    let folder = json!([{ "uri": editor.uri(""), "name": "project" }]);
    editor.initialize(json!({}), json!({}), folder);
    editor.settle();
    assert!(editor.shown.is_empty(), "{:?}", editor.shown);
}

#[test]
fn a_setting_that_is_not_valid_is_shown_to_the_user() {
    let project = project();
    for (settings, part) in [
        (
            json!({ "meshversion": "1.28" }),
            "unknown setting `meshprobe.meshversion`",
        ),
        (
            json!({ "meshVersion": [[]] }),
            "is not a value for `meshprobe.meshVersion`",
        ),
        (json!({ "minSeverity": "fatal" }), "invalid value 'fatal'"),
        (json!({ "select": ["no-such-rule"] }), "no-such-rule"),
    ] {
        let editor = Editor::open_with(&project, json!({}), settings);
        let messages = editor
            .received
            .iter()
            .filter(|(method, _)| method == "window/showMessage");
        let messages: Vec<_> = messages
            .map(|(_, params)| params["message"].as_str().unwrap())
            .collect();
        assert!(
            matches!(messages.as_slice(), [one] if one.contains(part)),
            "{messages:?}"
        );
    }
}

#[test]
fn a_configuration_that_is_not_valid_keeps_the_last_valid_one() {
    let project = project();
    let strict = format!("{CONFIG}  assume: {{mtls: STRICT}}\n");
    project.write(".meshprobe.yaml", &strict);
    let mut editor = Editor::open(&project);
    let before = editor.summary("web.yaml");
    assert!(
        before[0].contains("strict-probe-not-rewritten"),
        "{before:?}"
    );
    editor.open_document(".meshprobe.yaml", &strict);
    editor.change(
        ".meshprobe.yaml",
        &format!("{CONFIG}  asume: {{mtls: STRICT}}\n"),
    );
    editor.settle();
    assert_eq!(editor.summary("web.yaml"), before);
    let [problem] = editor.shown[".meshprobe.yaml"].as_slice() else {
        panic!("{:#?}", editor.shown);
    };
    assert_eq!(
        problem["range"]["start"],
        json!({ "line": 3, "character": 2 })
    );
    // The unsaved configuration applies as soon as it is valid.
    editor.change(
        ".meshprobe.yaml",
        &format!("{CONFIG}  assume: {{mtls: DISABLE}}\n"),
    );
    editor.settle();
    assert_ne!(editor.summary("web.yaml"), before);
    assert!(!editor.shown.contains_key(".meshprobe.yaml"));
    write_and_report(&editor, ".meshprobe.yaml", &strict);
    editor.close(".meshprobe.yaml");
    editor.settle();
    assert_eq!(editor.summary("web.yaml"), before);
}
