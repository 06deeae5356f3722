//! Definition and references between probes and the lines that decide.

use serde_json::{Value, json};

use super::editor::{Editor, position};
use super::requests::{MESH, WEB, broken_project, mesh, position_of, texts_at};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN};
use crate::support::project::Project;

#[test]
fn a_probe_leads_to_the_lines_that_decide() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    for (method, part) in [("definition", "readinessProbe"), ("references", "8080")] {
        let found = editor.ask(method, WEB, NOT_REWRITTEN, part);
        let texts = texts_at(&editor, &found);
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts[0].starts_with("web.yaml:6: "), "{texts:?}");
        assert!(texts[1].starts_with("mesh.yaml:8: "), "{texts:?}");
        assert!(texts[2].starts_with("mesh.yaml:3: "), "{texts:?}");
        assert!(
            texts[1].contains("STRICT") && texts[2].contains("enabled"),
            "{texts:?}"
        );
    }
}

#[test]
fn a_line_that_decides_leads_to_its_probes() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    for method in ["definition", "references"] {
        for part in [
            "STRICT",
            "PeerAuthentication",
            "istio-injection",
            "Namespace",
        ] {
            let found = editor.ask(method, MESH, &mesh(), part);
            assert_eq!(
                texts_at(&editor, &found),
                ["web.yaml:10: readinessProbe"],
                "{part}"
            );
        }
    }
    let annotation = editor.ask("definition", WEB, NOT_REWRITTEN, "sidecar.istio.io");
    assert_eq!(
        texts_at(&editor, &annotation),
        ["web.yaml:10: readinessProbe"]
    );
    assert_eq!(
        editor.ask("definition", WEB, NOT_REWRITTEN, "containers"),
        Value::Null
    );
}

#[test]
fn a_line_of_a_policy_that_decides_nothing_alone_leads_to_the_probes_of_the_policy() {
    let project = broken_project();
    let policy = mesh().replace("shop}\nspec:", "shop, labels: {team: shop}}\nspec:");
    project.write(MESH, &policy);
    let mut editor = Editor::open(&project);
    for method in ["definition", "references"] {
        for part in ["team", "spec", "security.istio.io"] {
            let found = editor.ask(method, MESH, &policy, part);
            let texts = texts_at(&editor, &found);
            assert_eq!(texts, ["web.yaml:10: readinessProbe"], "{part}");
        }
    }
}

#[test]
fn references_include_the_declaration_on_request() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let params = json!({
        "textDocument": { "uri": editor.uri(MESH) },
        "position": position_of(&mesh(), "STRICT"),
        "context": { "includeDeclaration": true },
    });
    let found = editor.request("textDocument/references", params).unwrap();
    assert_eq!(
        texts_at(&editor, &found),
        ["mesh.yaml:8: mode", "web.yaml:10: readinessProbe"]
    );
}

#[test]
fn an_unsaved_document_is_the_source_of_positions() {
    let project = Project::with(&[(MESH, INJECTED), (WEB, NOT_REWRITTEN)]);
    let mut editor = Editor::open(&project);
    let longer = format!("# ü𝄞\n{}", mesh());
    editor.open_document(MESH, &longer);
    let found = editor.ask("definition", WEB, NOT_REWRITTEN, "readinessProbe");
    let line = longer
        .lines()
        .position(|line| line.contains("STRICT"))
        .unwrap();
    let is_policy = |location: &&Value| location["range"]["start"]["line"] == line;
    assert!(
        found
            .as_array()
            .unwrap()
            .iter()
            .any(|location| is_policy(&location)),
        "{found:#}"
    );
}

#[test]
fn a_document_that_shows_another_text_than_the_analysed_one_is_located_at_its_start() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    editor.open_document(WEB, NOT_REWRITTEN);
    // The last valid text is analysed, whose lines are not those that the editor shows.
    let broken = format!("# 1\n# 2\n# 3\n{NOT_REWRITTEN}  x: [\n");
    editor.change(WEB, &broken);
    editor.settle();
    let found = editor.ask("references", MESH, &mesh(), "STRICT");
    let start = position(0, 0);
    let expected = json!([{
        "uri": editor.uri(WEB), "range": { "start": start, "end": start },
    }]);
    assert_eq!(found, expected);
    let hover = editor.hover(MESH, &mesh(), "STRICT");
    assert!(!hover.contains("#L"), "{hover}");
    // The next valid text is analysed again.
    editor.change(WEB, &format!("# 1\n# 2\n# 3\n{NOT_REWRITTEN}"));
    editor.settle();
    let found = editor.ask("references", MESH, &mesh(), "STRICT");
    assert_eq!(found[0]["range"]["start"]["line"], 12);
    assert!(editor.hover(MESH, &mesh(), "STRICT").contains("#L13)"));
}
