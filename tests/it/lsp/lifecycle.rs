//! The life cycle of the server, and messages at the wrong time.

use meshprobe::engine::Exit;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

const NOT_INITIALIZED: i32 = -32002;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const CANCELLED: i32 = -32800;

#[test]
fn the_exit_code_depends_on_the_shutdown_request() {
    let project = Project::new();
    assert_eq!(Editor::open(&project).shut_down(), Exit::Success);
    let mut editor = Editor::open(&project);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit().code(), 1);
    let mut editor = Editor::connect(&project);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit().code(), 1);
}

#[test]
fn a_client_that_dies_ends_the_server() {
    let project = Project::new();
    assert_eq!(Editor::open(&project).die().code(), 1);
    assert_eq!(Editor::connect(&project).die().code(), 1);
}

#[test]
fn requests_at_the_wrong_time_are_rejected() {
    let project = Project::new();
    let mut editor = Editor::connect(&project);
    let early = editor.request("textDocument/codeAction", json!({}));
    assert_eq!(early, Err(NOT_INITIALIZED));
    assert_eq!(editor.request("initialize", json!([])), Err(INVALID_PARAMS));
    // A notification before `initialize` is dropped.
    editor.open_document("a.yaml", "a: b\n");
    editor.initialize(json!({}), json!({}), Value::Null);
    assert_eq!(
        editor.request("initialize", json!({})),
        Err(INVALID_REQUEST)
    );
    assert_eq!(
        editor.request("textDocument/unknown", json!({})),
        Err(METHOD_NOT_FOUND)
    );
    editor.request("shutdown", Value::Null).unwrap();
    let late = editor.request("textDocument/codeAction", json!({}));
    assert_eq!(late, Err(INVALID_REQUEST));
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit(), Exit::Success);
}

#[test]
fn parameters_that_are_not_valid_are_an_error_of_the_request_only() {
    let project = Project::with(&[("a.yaml", NOT_REWRITTEN)]);
    let mut editor = Editor::open(&project);
    let params = json!({ "textDocument": { "uri": editor.uri("a.yaml") }, "range": 1 });
    assert_eq!(
        editor.request("textDocument/codeAction", params),
        Err(INVALID_PARAMS)
    );
    editor.notify("textDocument/didChange", json!({ "textDocument": 1 }));
    editor.notify("$/unknown", json!({}));
    editor.settle();
    assert!(editor.shown.contains_key("a.yaml"));
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn a_cancelled_request_is_answered_as_cancelled_or_in_full() {
    let project = Project::with(&[("a.yaml", NOT_REWRITTEN)]);
    let mut editor = Editor::open(&project);
    editor.open_document("a.yaml", NOT_REWRITTEN);
    let params = json!({
        "textDocument": { "uri": editor.uri("a.yaml") },
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } },
        "context": { "diagnostics": [] },
    });
    // The analysis after the change takes longer than the messages.
    editor.change("a.yaml", &format!("# comment\n{NOT_REWRITTEN}"));
    let id = editor.send("textDocument/codeAction", params);
    editor.notify("$/cancelRequest", json!({ "id": 999 }));
    editor.notify("$/cancelRequest", json!({ "id": id }));
    let answer = editor.answer(&id);
    assert!(answer.is_ok() || answer == Err(CANCELLED), "{answer:?}");
    assert_eq!(editor.shut_down(), Exit::Success);
}

#[test]
fn requests_that_are_queued_at_the_end_are_answered() {
    let project = Project::with(&[("a.yaml", NOT_REWRITTEN)]);
    let folder = |editor: &Editor<'_>| json!({ "uri": editor.uri(""), "name": "project" });
    for is_removed in [true, false] {
        let mut editor = Editor::open(&project);
        editor.open_document("a.yaml", NOT_REWRITTEN);
        // The request arrives between a change and the analysis after it.
        editor.change("a.yaml", &format!("# comment\n{NOT_REWRITTEN}"));
        let params = json!({
            "textDocument": { "uri": editor.uri("a.yaml") },
            "position": { "line": 0, "character": 0 },
        });
        let query = editor.send("textDocument/hover", params);
        let ended = match is_removed {
            true => {
                let event = json!({ "event": { "added": [], "removed": [folder(&editor)] } });
                editor.notify("workspace/didChangeWorkspaceFolders", event);
                None
            }
            false => Some(editor.send("shutdown", Value::Null)),
        };
        let answer = editor.answer(&query);
        assert!(answer.is_ok() || answer == Err(CANCELLED), "{answer:?}");
        match ended {
            Some(ended) => {
                editor.answer(&ended).unwrap();
                editor.notify("exit", Value::Null);
                assert_eq!(editor.exit(), Exit::Success);
            }
            None => assert_eq!(editor.shut_down(), Exit::Success),
        }
    }
}

#[test]
fn position_encodings_are_negotiated() {
    let project = Project::with(&[(
        "a.yaml",
        &join(&[INJECTED, STRICT, NOT_REWRITTEN])
            .replace("readinessProbe: {", "readinessProbe: {'ü𝄞': 1, "),
    )]);
    for (offered, selected) in [
        (json!(["utf-8", "utf-16"]), "utf-8"),
        (json!(["utf-32"]), "utf-32"),
        (json!(["utf-7"]), "utf-16"),
        (Value::Null, "utf-16"),
    ] {
        let mut editor = Editor::connect(&project);
        let capabilities = json!({ "general": { "positionEncodings": offered } });
        let answer = editor.initialize(capabilities, json!({}), Value::Null);
        assert_eq!(answer["capabilities"]["positionEncoding"], selected);
        assert_eq!(editor.shut_down(), Exit::Success);
    }
}

#[test]
fn the_first_load_shows_its_progress() {
    let project = Project::with(&[("a.yaml", NOT_REWRITTEN)]);
    let capabilities = json!({ "window": { "workDoneProgress": true } });
    let editor = Editor::open_with(&project, capabilities, json!({}));
    let kinds: Vec<&str> = editor
        .received
        .iter()
        .filter(|(method, _)| method == "$/progress")
        .map(|(_, params)| params["value"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["begin", "end"]);
}
