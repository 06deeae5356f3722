//! Inlay hints at probes, and code lenses at workloads.

use serde_json::{Value, json};

use super::editor::Editor;
use super::requests::{MESH, WEB, broken_project, mesh};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED};
use crate::support::project::Project;

impl Editor<'_> {
    /// Returns the hints of a whole document.
    pub(super) fn hints(&mut self, path: &str) -> Vec<Value> {
        self.hints_in(path, 0, 10_000)
    }

    fn hints_in(&mut self, path: &str, first: usize, last: usize) -> Vec<Value> {
        let params = json!({
            "textDocument": { "uri": self.uri(path) },
            "range": {
                "start": { "line": first, "character": 0 },
                "end": { "line": last, "character": 0 },
            },
        });
        let answer = self.request("textDocument/inlayHint", params).unwrap();
        answer.as_array().cloned().unwrap_or_default()
    }

    /// Returns the lenses of a document, each as `line: title` with the line from 0.
    pub(super) fn lenses(&mut self, path: &str) -> Vec<String> {
        let params = json!({ "textDocument": { "uri": self.uri(path) } });
        let answer = self.request("textDocument/codeLens", params).unwrap();
        let lenses = answer.as_array().into_iter().flatten();
        let shown = lenses.map(|lens| {
            let title = lens["command"]["title"].as_str().unwrap();
            format!("{}: {title}", lens["range"]["start"]["line"])
        });
        shown.collect()
    }
}

#[test]
fn a_hint_shows_the_rewritten_target_and_the_outcome() {
    let project = Project::with(&[(MESH, &mesh()), (WEB, PROBED)]);
    let mut editor = Editor::open(&project);
    let hints = editor.hints(WEB);
    assert_eq!(hints.len(), 1);
    assert_eq!(hints[0]["label"], "→ :15020/app-health/web/livez  ok");
    let line = PROBED.lines().nth(6).unwrap();
    assert_eq!(
        hints[0]["position"],
        json!({ "line": 6, "character": line.len() })
    );
    assert_eq!(editor.lenses(WEB), ["1: web: livenessProbe ok"]);
}

#[test]
fn a_hint_is_at_the_end_of_the_line_in_the_range() {
    let web = NOT_REWRITTEN.replace("port: 8080}}", "port: 8080}} # ü𝄞 ");
    let project = Project::with(&[(MESH, &mesh()), (WEB, &web)]);
    let mut editor = Editor::open(&project);
    let hints = editor.hints_in(WEB, 9, 10);
    assert_eq!(hints[0]["label"], "fails");
    let line = web.lines().nth(9).unwrap().trim_end();
    let character = line.encode_utf16().count();
    assert_eq!(
        hints[0]["position"],
        json!({ "line": 9, "character": character })
    );
    let tooltip = hints[0]["tooltip"].as_str().unwrap();
    assert!(
        tooltip.contains("plain text on a port that requires mutual TLS"),
        "{tooltip}"
    );
    assert!(editor.hints_in(WEB, 0, 8).is_empty());
}

#[test]
fn hints_follow_an_unsaved_policy() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    assert_eq!(editor.lenses(WEB), ["1: web: readinessProbe fails"]);
    editor.open_document(MESH, &mesh().replace("STRICT", "PERMISSIVE"));
    editor.settle();
    assert_eq!(editor.hints(WEB)[0]["label"], "ok");
    assert_eq!(editor.lenses(WEB), ["1: web: readinessProbe ok"]);
}

#[test]
fn pods_outside_of_a_mesh_have_no_hints_and_lenses() {
    let project = Project::with(&[
        (MESH, &INJECTED.replace("enabled", "disabled")),
        (WEB, PROBED),
    ]);
    let mut editor = Editor::open(&project);
    assert!(editor.hints(WEB).is_empty());
    assert!(editor.lenses(WEB).is_empty());
}
