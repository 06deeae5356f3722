//! Open documents, files on disk, and the folders of the workspace.

use std::fs;

use serde_json::{Value, json};

use super::editor::{Editor, position, write_and_report};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, OPT_OUT, STRICT, join};
use crate::support::project::Project;

#[test]
fn an_unsaved_text_takes_the_place_of_the_file() {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", NOT_REWRITTEN),
    ]);
    let mut editor = Editor::open(&project);
    assert!(editor.shown.contains_key("web.yaml"));
    editor.open_document("mesh.yaml", &join(&[INJECTED, STRICT]));
    let line = join(&[INJECTED, STRICT]).lines().count() - 1;
    let range = json!({ "start": position(line, 20), "end": position(line, 26) });
    editor.change_by(
        "mesh.yaml",
        json!([{ "range": range, "text": "PERMISSIVE" }]),
    );
    editor.settle();
    assert!(editor.shown.is_empty(), "{:#?}", editor.shown);
    // Without the document, the file applies again.
    editor.close("mesh.yaml");
    editor.settle();
    assert!(editor.shown.contains_key("web.yaml"));
}

#[test]
fn a_document_that_is_not_saved_yet_is_checked() {
    let project = Project::with(&[("mesh.yaml", &join(&[INJECTED, STRICT]))]);
    let mut editor = Editor::open(&project);
    editor.open_document("new.yaml", NOT_REWRITTEN);
    editor.settle();
    assert_eq!(editor.summary("new.yaml").len(), 1);
    editor.close("new.yaml");
    editor.settle();
    assert!(editor.shown.is_empty());
}

#[test]
fn files_that_appear_change_and_disappear_are_noticed() {
    let project = Project::with(&[("mesh.yaml", &join(&[INJECTED, STRICT]))]);
    let mut editor = Editor::open(&project);
    write_and_report(&editor, "web.yaml", NOT_REWRITTEN);
    editor.settle();
    assert_eq!(editor.summary("web.yaml").len(), 1);
    write_and_report(&editor, "web.yaml", &NOT_REWRITTEN.replace(OPT_OUT, ""));
    editor.settle();
    assert!(
        !editor.shown.contains_key("web.yaml"),
        "{:#?}",
        editor.shown
    );
    write_and_report(&editor, "web.yaml", NOT_REWRITTEN);
    editor.settle();
    fs::remove_file(project.path("web.yaml")).unwrap();
    editor.changed_on_disk("web.yaml", 3);
    editor.settle();
    assert!(editor.shown.is_empty());
}

#[test]
fn a_half_typed_document_does_not_change_other_files() {
    let mesh = join(&[INJECTED, STRICT]);
    let project = Project::with(&[("mesh.yaml", &mesh), ("web.yaml", NOT_REWRITTEN)]);
    let mut editor = Editor::open(&project);
    let before = editor.summary("web.yaml");
    editor.open_document("mesh.yaml", &mesh);
    editor.change("mesh.yaml", &mesh.replace("{mtls:", "{mtls: ["));
    editor.settle();
    assert_eq!(editor.summary("web.yaml"), before);
    let [problem] = editor.shown["mesh.yaml"].as_slice() else {
        panic!("{:#?}", editor.shown["mesh.yaml"]);
    };
    assert_eq!(
        (&problem["code"], &problem["severity"]),
        (&json!("syntax-error"), &json!(1))
    );
    // A saved text is the truth, whatever it contains.
    editor.save("mesh.yaml");
    editor.settle();
    assert_ne!(editor.summary("web.yaml"), before);
    editor.change("mesh.yaml", &mesh);
    editor.settle();
    assert_eq!(editor.summary("web.yaml"), before);
}

#[test]
fn each_folder_of_the_workspace_has_its_own_facts() {
    let project = Project::with(&[
        ("one/mesh.yaml", &join(&[INJECTED, STRICT])),
        ("one/web.yaml", NOT_REWRITTEN),
        ("two/web.yaml", NOT_REWRITTEN),
    ]);
    for folder in ["one", "two"] {
        fs::create_dir(project.path(folder).join(".git")).unwrap();
    }
    let mut editor = Editor::connect(&project);
    let folder = |name: &str| json!({ "uri": editor.uri(name), "name": name });
    let (one, two) = (folder("one"), folder("two"));
    editor.initialize(json!({}), json!({}), json!([one, two]));
    let settle = |editor: &mut Editor<'_>| {
        for path in ["one/web.yaml", "two/web.yaml"] {
            editor.actions(path, 0);
            editor.actions(path, 0);
        }
    };
    settle(&mut editor);
    let errors = |editor: &Editor<'_>, path: &str| {
        let lines = editor.summary(path);
        lines.iter().filter(|line| line.starts_with('1')).count()
    };
    assert_eq!(
        (
            errors(&editor, "one/web.yaml"),
            errors(&editor, "two/web.yaml")
        ),
        (1, 0)
    );
    let event = json!({ "event": { "added": [], "removed": [one] } });
    editor.notify("workspace/didChangeWorkspaceFolders", event);
    settle(&mut editor);
    assert!(
        !editor.shown.contains_key("one/web.yaml"),
        "{:#?}",
        editor.shown
    );
}

#[test]
fn a_document_outside_of_all_folders_is_checked_alone() {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", NOT_REWRITTEN),
        (
            "api.yaml",
            &NOT_REWRITTEN.replace("name: web\n", "name: api\n"),
        ),
    ]);
    let mut editor = Editor::connect(&project);
    editor.initialize(json!({}), json!({}), Value::Null);
    editor.open_document("web.yaml", NOT_REWRITTEN);
    editor.actions("web.yaml", 0);
    let errors = |path| {
        editor
            .summary(path)
            .iter()
            .filter(|line| line.starts_with('1'))
            .count()
    };
    assert_eq!((errors("web.yaml"), errors("api.yaml")), (1, 0));
    editor.close("web.yaml");
    editor.request("shutdown", Value::Null).unwrap();
    assert!(editor.shown.is_empty());
}
