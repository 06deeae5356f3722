//! Diagnostics that the client requests.

use serde_json::{Value, json};

use super::editor::Editor;
use super::requests::{MESH, WEB, broken_project, mesh};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, OPT_OUT};
use crate::support::project::Project;

const METHOD_NOT_FOUND: i32 = -32601;

fn pulling() -> Value {
    json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "diagnostics": { "refreshSupport": true } },
    })
}

impl Editor<'_> {
    fn pull(&mut self, path: &str, previous: &Value) -> Value {
        let params = json!({
            "textDocument": { "uri": self.uri(path) }, "previousResultId": previous,
        });
        self.request("textDocument/diagnostic", params).unwrap()
    }

    fn refreshes(&self) -> usize {
        let is_refresh = |(method, _): &&(String, Value)| method == "workspace/diagnostic/refresh";
        self.received.iter().filter(is_refresh).count()
    }
}

fn rules(report: &Value) -> Vec<&str> {
    let items = report["items"].as_array().unwrap().iter();
    items.map(|item| item["code"].as_str().unwrap()).collect()
}

#[test]
fn a_client_that_cannot_refresh_gets_published_diagnostics() {
    let project = broken_project();
    for capabilities in [
        json!({}),
        json!({ "textDocument": { "diagnostic": {} } }),
        json!({ "workspace": { "diagnostics": { "refreshSupport": true } } }),
    ] {
        let mut editor = Editor::connect(&project);
        let folder = json!([{ "uri": editor.uri(""), "name": "project" }]);
        let answer = editor.initialize(capabilities, json!({}), folder);
        assert_eq!(answer["capabilities"]["diagnosticProvider"], Value::Null);
        editor.settle();
        assert!(editor.shown.contains_key(WEB));
        let params = json!({ "textDocument": { "uri": editor.uri(WEB) } });
        let refused = editor.request("textDocument/diagnostic", params);
        assert_eq!(refused, Err(METHOD_NOT_FOUND));
    }
}

#[test]
fn open_documents_are_pulled_and_only_others_are_published() {
    let project = broken_project();
    let mut editor = Editor::open_with(&project, pulling(), json!({}));
    // Those of closed files are published.
    assert!(editor.shown.contains_key(WEB) && editor.shown.contains_key(MESH));
    editor.open_document(WEB, NOT_REWRITTEN);
    let report = editor.pull(WEB, &Value::Null);
    assert_eq!(report["kind"], "full");
    assert_eq!(rules(&report), ["strict-probe-not-rewritten"]);
    assert!(!editor.shown.contains_key(WEB), "both pulled and published");
    let unchanged = editor.pull(WEB, &report["resultId"]);
    assert_eq!(
        unchanged,
        json!({ "kind": "unchanged", "resultId": report["resultId"] })
    );
    editor.change(WEB, &NOT_REWRITTEN.replace(OPT_OUT, "a: b"));
    let fixed = editor.pull(WEB, &report["resultId"]);
    assert_eq!((&fixed["kind"], rules(&fixed).len()), (&json!("full"), 0));
    editor.change(WEB, NOT_REWRITTEN);
    editor.close(WEB);
    editor.settle();
    assert!(editor.shown.contains_key(WEB));
}

#[test]
fn a_change_of_another_document_is_a_reason_to_pull_again() {
    let project = broken_project();
    let mut editor = Editor::open_with(&project, pulling(), json!({}));
    editor.open_document(WEB, NOT_REWRITTEN);
    editor.open_document(MESH, &mesh());
    let before = editor.pull(WEB, &Value::Null);
    let refreshes = editor.refreshes();
    editor.change(MESH, &mesh().replace("STRICT", "PERMISSIVE"));
    editor.settle();
    assert!(editor.refreshes() > refreshes);
    assert!(rules(&editor.pull(WEB, &before["resultId"])).is_empty());
    let refreshes = editor.refreshes();
    // Nothing that the client has is outdated by a comment at the end.
    editor.change(
        MESH,
        &format!("{}# end\n", mesh().replace("STRICT", "PERMISSIVE")),
    );
    editor.settle();
    assert_eq!(editor.refreshes(), refreshes);
}

#[test]
fn documents_about_which_nothing_is_known_have_an_empty_report() {
    let project = Project::with(&[(MESH, INJECTED)]);
    let mut editor = Editor::open_with(&project, pulling(), json!({}));
    for uri in ["untitled:Untitled-1", "git:/a.yaml", "file:///none/a.yaml"] {
        let params = json!({ "textDocument": { "uri": uri } });
        let report = editor.request("textDocument/diagnostic", params).unwrap();
        assert_eq!(report["kind"], "full", "{uri}");
        assert!(rules(&report).is_empty());
    }
}
