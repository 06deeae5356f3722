//! Diagnostics that the client requests.

use std::collections::BTreeMap;
use std::fs;

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

    /// Requests the diagnostics of the workspace, by path.
    fn pull_all(&mut self, previous: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
        let ids: Vec<Value> = previous
            .iter()
            .map(|(path, id)| json!({ "uri": self.uri(path), "value": id }))
            .collect();
        let answer = self
            .request("workspace/diagnostic", json!({ "previousResultIds": ids }))
            .unwrap();
        let root = format!("{}/", self.uri(""));
        let items = answer["items"].as_array().unwrap().iter();
        items
            .map(|item| {
                let path = item["uri"].as_str().unwrap().strip_prefix(&root).unwrap();
                (path.to_owned(), item.clone())
            })
            .collect()
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
    // The client has not requested the diagnostics of the workspace: those of closed files are published.
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
fn the_diagnostics_of_the_workspace_are_pulled_once() {
    let project = broken_project();
    let mut editor = Editor::open_with(&project, pulling(), json!({}));
    let all = editor.pull_all(&BTreeMap::new());
    assert_eq!(all.keys().collect::<Vec<_>>(), [MESH, WEB]);
    editor.settle();
    assert!(editor.shown.is_empty(), "both pulled and published");
    let ids: BTreeMap<String, String> = all
        .iter()
        .map(|(path, item)| (path.clone(), item["resultId"].as_str().unwrap().to_owned()))
        .collect();
    for item in editor.pull_all(&ids).values() {
        assert_eq!(item["kind"], "unchanged");
    }
    // A change on disk: the report of a file that is deleted is replaced by an empty one.
    fs::remove_file(project.path(WEB)).unwrap();
    editor.changed_on_disk(WEB, 3);
    let all = editor.pull_all(&ids);
    assert_eq!(
        (&all[WEB]["kind"], rules(&all[WEB]).len()),
        (&json!("full"), 0)
    );
    assert!(rules(&all[MESH]).is_empty());
    assert!(editor.shown.is_empty());
}

#[test]
fn the_reports_of_all_folders_are_in_one_answer() {
    let project = Project::with(&[
        (
            "one/all.yaml",
            &crate::support::manifest::join(&[&mesh(), NOT_REWRITTEN]),
        ),
        (
            "two/all.yaml",
            &crate::support::manifest::join(&[&mesh(), NOT_REWRITTEN]),
        ),
    ]);
    let mut editor = Editor::connect(&project);
    let folder = |name: &str| json!({ "uri": editor.uri(name), "name": name });
    let (one, two) = (folder("one"), folder("two"));
    editor.initialize(pulling(), json!({}), json!([one, two]));
    let all = editor.pull_all(&BTreeMap::new());
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        ["one/all.yaml", "two/all.yaml"]
    );
    let event = json!({ "event": { "added": [], "removed": [one] } });
    editor.notify("workspace/didChangeWorkspaceFolders", event);
    let ids = BTreeMap::from([("one/all.yaml".to_owned(), "0".to_owned())]);
    let all = editor.pull_all(&ids);
    assert!(rules(&all["one/all.yaml"]).is_empty());
    assert!(!rules(&all["two/all.yaml"]).is_empty());
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
