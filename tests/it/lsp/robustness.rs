//! Documents, paths and messages that clients send rarely: the server neither ends nor stops to answer.

use std::fmt::Write as _;
use std::fs;

use meshprobe::engine::Exit;
use serde_json::{Value, json};

use super::editor::{Editor, position};
use super::requests::{MESH, WEB, broken_project, mesh};
use crate::support::manifest::NOT_REWRITTEN;
use crate::support::project::Project;

/// The requests about a document, each with its parameters except for the document.
fn requests(line: u64, character: u64) -> Vec<(&'static str, Value)> {
    let at = json!({ "line": line, "character": character });
    let range = json!({ "start": at, "end": at });
    vec![
        (
            "codeAction",
            json!({ "range": range, "context": { "diagnostics": [] } }),
        ),
        ("codeLens", json!({})),
        ("completion", json!({ "position": at })),
        ("definition", json!({ "position": at })),
        ("hover", json!({ "position": at })),
        ("inlayHint", json!({ "range": range })),
        (
            "references",
            json!({ "position": at, "context": { "includeDeclaration": true } }),
        ),
    ]
}

impl Editor<'_> {
    /// Sends all requests about a document. Returns those that fail.
    fn failures(&mut self, uri: &str, line: u64, character: u64) -> Vec<String> {
        let mut failures = Vec::new();
        for (name, mut params) in requests(line, character) {
            params["textDocument"] = json!({ "uri": uri });
            if let Err(code) = self.request(&format!("textDocument/{name}"), params) {
                failures.push(format!("{name}: {code}"));
            }
        }
        failures
    }
}

#[test]
fn a_huge_paste_is_checked_and_removed_again() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let mut paste = String::new();
    while paste.len() < 4 << 20 {
        let name = paste.len();
        let _ = write!(
            paste,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{name}}}\ndata:\n  text: |\n"
        );
        for line in 0..200 {
            let _ = writeln!(
                paste,
                "    {line}: the quick brown fox jumps over the lazy dog ü𝄞"
            );
        }
    }
    editor.open_document(WEB, NOT_REWRITTEN);
    let end = NOT_REWRITTEN.lines().count();
    let range = json!({ "start": position(end, 0), "end": position(end, 0) });
    editor.change_by(WEB, json!([{ "range": range, "text": paste }]));
    let uri = editor.uri(WEB);
    assert!(editor.failures(&uri, 9, 6).is_empty());
    assert_eq!(editor.hints(WEB).len(), 1);
    // Half of it is deleted, in the middle of a line.
    let (line, last) = (end + 1000, end + paste.lines().count());
    let range = json!({ "start": position(line, 7), "end": position(last, 0) });
    editor.change_by(WEB, json!([{ "range": range, "text": ": [" }]));
    assert!(editor.failures(&uri, 9, 6).is_empty());
    editor.change(WEB, NOT_REWRITTEN);
    editor.settle();
    assert_eq!(editor.summary(WEB).len(), 1);
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn files_and_folders_are_deleted_below_open_documents() {
    let project = Project::with(&[("apps/web.yaml", NOT_REWRITTEN), (MESH, &mesh())]);
    let mut editor = Editor::open(&project);
    editor.open_document("apps/web.yaml", NOT_REWRITTEN);
    editor.settle();
    fs::remove_dir_all(project.path("apps")).unwrap();
    editor.changed_on_disk("apps/web.yaml", 3);
    let uri = editor.uri("apps/web.yaml");
    assert!(editor.failures(&uri, 9, 6).is_empty());
    editor.change("apps/web.yaml", &format!("# again\n{NOT_REWRITTEN}"));
    editor.save("apps/web.yaml");
    assert!(editor.failures(&uri, 9, 6).is_empty());
    editor.close("apps/web.yaml");
    editor.settle();
    assert!(
        !editor.shown.contains_key("apps/web.yaml"),
        "{:#?}",
        editor.shown
    );
    // The folder of the workspace itself.
    fs::remove_dir_all(project.path("")).unwrap();
    editor.changed_on_disk(MESH, 3);
    let uri = editor.uri(MESH);
    assert!(editor.failures(&uri, 0, 0).is_empty());
    // Only the folder has a diagnostic.
    assert_eq!(editor.shown.keys().collect::<Vec<_>>(), ["."]);
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn positions_outside_of_the_text_are_answered() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    editor.open_document(WEB, NOT_REWRITTEN);
    let uri = editor.uri(WEB);
    let largest = u64::from(u32::MAX);
    for (line, character) in [
        (0, largest),
        (largest, 0),
        (largest, largest),
        (9, 10_000),
        (99, 3),
    ] {
        assert!(editor.failures(&uri, line, character).is_empty());
    }
    for (start, end) in [
        (position(9, 0), position(0, 0)),
        (
            json!({ "line": largest, "character": largest }),
            position(0, 0),
        ),
    ] {
        let params = json!({
            "textDocument": { "uri": uri }, "range": { "start": start, "end": end },
            "context": { "diagnostics": [] },
        });
        for name in ["inlayHint", "codeAction"] {
            editor
                .request(&format!("textDocument/{name}"), params.clone())
                .unwrap();
        }
    }
    // Larger than the protocol allows.
    let failures = editor.failures(&uri, largest + 1, 0);
    assert!(
        failures.iter().all(|failure| failure.ends_with(": -32602")),
        "{failures:?}"
    );
    // A change with such a range leaves the text unchanged or appends to it.
    editor.change_by(WEB, json!([
        { "range": { "start": position(9, 9), "end": position(0, 0) }, "text": "x" },
        { "range": { "start": { "line": largest, "character": largest }, "end": { "line": largest, "character": largest } }, "text": "# end\n" },
    ]));
    editor.settle();
    assert_eq!(editor.hints(WEB).len(), 1);
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn documents_without_a_path_are_ignored() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    for uri in [
        "untitled:Untitled-1",
        "git:/web.yaml?ref=HEAD",
        "vscode-notebook-cell:/a#b",
        "file://host/share/web.yaml",
        "file:relative.yaml",
        "file:///a%00b.yaml",
        "C:\\windows\\web.yaml",
        "",
        "%%%",
    ] {
        let document =
            json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": NOT_REWRITTEN });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let document = json!({ "uri": uri, "version": 2 });
        let changes = json!([{ "text": "a: [" }]);
        editor.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
        assert!(editor.failures(uri, 9, 6).is_empty(), "{uri}");
        let document = json!({ "uri": uri });
        editor.notify("textDocument/didSave", json!({ "textDocument": document }));
        editor.notify("textDocument/didClose", json!({ "textDocument": document }));
        let changes = json!([{ "uri": uri, "type": 2 }]);
        editor.notify(
            "workspace/didChangeWatchedFiles",
            json!({ "changes": changes }),
        );
    }
    editor.settle();
    assert_eq!(editor.shown.keys().collect::<Vec<_>>(), [MESH, WEB]);
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn escapes_in_a_uri_name_the_same_document() {
    let project = Project::with(&[(MESH, &mesh()), ("a ü+%/web.yaml", NOT_REWRITTEN)]);
    let mut editor = Editor::open(&project);
    let root = editor.uri("");
    for name in [
        "a%20%C3%BC%2B%25/web.yaml",
        "a%20%c3%bc+%25/web%2eyaml",
        "a ü+%25/%77eb.yaml",
    ] {
        let uri = format!("{root}/{name}");
        let document =
            json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": NOT_REWRITTEN });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        editor.settle();
        // The diagnostics of an open document have the URI of the client.
        assert!(
            editor.shown.contains_key(name),
            "{name} {:?}",
            editor.shown.keys()
        );
        let params = json!({ "textDocument": { "uri": uri }, "position": position(9, 6) });
        let hover = editor.request("textDocument/hover", params).unwrap();
        assert!(
            hover["contents"]["value"]
                .as_str()
                .unwrap()
                .contains("**fails**"),
            "{name}"
        );
        editor.notify(
            "textDocument/didClose",
            json!({ "textDocument": { "uri": uri } }),
        );
        editor.settle();
        assert!(
            !editor.shown.contains_key(name) || name.starts_with("a%20%C3%BC%2B%25/"),
            "{name}"
        );
    }
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn a_document_that_is_opened_twice_has_the_last_text() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    editor.open_document(WEB, "a: [");
    editor.open_document(WEB, NOT_REWRITTEN);
    editor.settle();
    assert_eq!(editor.hints(WEB).len(), 1);
    editor.close(WEB);
    editor.close(WEB);
    // A change and a save of a document that is not open.
    editor.change(WEB, "a: b\n");
    editor.save(WEB);
    editor.settle();
    assert_eq!(editor.summary(WEB).len(), 1);
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn folders_are_removed_and_added_with_open_documents() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    editor.open_document(WEB, NOT_REWRITTEN);
    editor.settle();
    let folder = json!({ "uri": editor.uri(""), "name": "project" });
    let none = json!({ "uri": "file:///none", "name": "none" });
    let event =
        |added: Value, removed: Value| json!({ "event": { "added": added, "removed": removed } });
    for _ in 0..3 {
        editor.notify(
            "workspace/didChangeWorkspaceFolders",
            event(json!([]), json!([folder, none])),
        );
        let uri = editor.uri(WEB);
        assert!(editor.failures(&uri, 9, 6).is_empty());
        assert!(editor.shown.is_empty(), "{:#?}", editor.shown);
        editor.notify(
            "workspace/didChangeWorkspaceFolders",
            event(json!([folder, folder, none]), json!([])),
        );
        editor.settle();
        assert_eq!(editor.summary(WEB).len(), 1);
    }
    assert_eq!(editor.shut_down(), Exit::Success);
}
