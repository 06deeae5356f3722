//! Documents that are not valid YAML while they are typed: answers come from the last valid text.

use serde_json::{Value, json};

use super::editor::Editor;
use super::requests::{MESH, WEB, broken_project, mesh, position_of};
use crate::support::manifest::NOT_REWRITTEN;

/// The text of the pod with a half-typed annotation: one line more, and the document is not valid.
fn half_typed() -> String {
    NOT_REWRITTEN.replace("spec:\n", "  labels: {app: [\n  half\nspec:\n")
}

/// Returns an editor in which the pod was valid before.
fn editor_with_draft<'p>(project: &'p crate::support::project::Project, draft: &str) -> Editor<'p> {
    let mut editor = Editor::open(project);
    editor.open_document(WEB, NOT_REWRITTEN);
    editor.settle();
    editor.change(WEB, draft);
    editor.settle();
    editor
}

#[test]
fn hints_and_lenses_stay_at_their_lines() {
    let project = broken_project();
    let draft = half_typed();
    let mut editor = editor_with_draft(&project, &draft);
    let hints = editor.hints(WEB);
    let line = draft
        .lines()
        .position(|line| line.contains("readinessProbe"));
    assert_eq!(hints.len(), 1);
    assert_eq!(hints[0]["label"], "fails");
    assert_eq!(hints[0]["position"]["line"], json!(line));
    assert_eq!(editor.lenses(WEB), ["1: web: readinessProbe fails"]);
    // Valid again: the answers are those of the text.
    editor.change(
        WEB,
        &NOT_REWRITTEN.replace("spec:\n", "  labels: {app: web}\nspec:\n"),
    );
    editor.settle();
    assert_eq!(editor.hints(WEB)[0]["position"]["line"], json!(10));
}

#[test]
fn findings_stay_next_to_the_errors_of_the_text() {
    let project = broken_project();
    let draft = half_typed();
    let mut editor = editor_with_draft(&project, &draft);
    let line = 1 + draft
        .lines()
        .position(|line| line.contains("readinessProbe"))
        .unwrap();
    let summary = editor.summary(WEB);
    assert!(
        summary[0].starts_with(&format!("1 strict-probe-not-rewritten {line}: ")),
        "{summary:?}"
    );
    assert!(summary[1].starts_with("1 syntax-error "), "{summary:?}");
    assert_eq!(summary.len(), 2, "{summary:?}");
    // An edit would be made in another text than the one that was verified.
    assert!(editor.actions(WEB, line - 1).is_empty());
}

#[test]
fn hover_and_definition_work_outside_of_the_lines_that_are_typed() {
    let project = broken_project();
    let draft = half_typed();
    let mut editor = editor_with_draft(&project, &draft);
    let hover = editor.ask("hover", WEB, &draft, "readinessProbe");
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("**fails**"), "{text}");
    assert_eq!(
        hover["range"]["start"],
        position_of(&draft, "readinessProbe")
    );
    let found = editor.ask("definition", WEB, &draft, "readinessProbe");
    assert_eq!(found.as_array().map(Vec::len), Some(3), "{found:#?}");
    for part in ["app: [", "half"] {
        assert_eq!(
            editor.ask("hover", WEB, &draft, part),
            Value::Null,
            "{part}"
        );
    }
}

#[test]
fn nothing_is_answered_for_the_line_that_is_typed() {
    let project = broken_project();
    let draft = NOT_REWRITTEN.replace(
        "readinessProbe: {httpGet: {",
        "readinessProbe: {httpGet: [{",
    );
    let mut editor = editor_with_draft(&project, &draft);
    assert!(editor.hints(WEB).is_empty());
    assert_eq!(
        editor.ask("hover", WEB, &draft, "readinessProbe"),
        Value::Null
    );
    let codes: Vec<&Value> = editor.shown[WEB]
        .iter()
        .map(|shown| &shown["code"])
        .collect();
    assert_eq!(codes, ["syntax-error"]);
    // The lens is at another line.
    assert_eq!(editor.lenses(WEB), ["1: web: readinessProbe fails"]);
}

#[test]
fn locations_in_a_half_typed_document_are_moved() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let draft = format!("half: [\n# two\n{}", mesh());
    editor.open_document(MESH, &mesh());
    editor.change(MESH, &draft);
    editor.settle();
    let at_mode = draft
        .lines()
        .position(|line| line.contains("STRICT"))
        .unwrap();
    let found = editor.ask("definition", WEB, NOT_REWRITTEN, "readinessProbe");
    let lines: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["range"]["start"]["line"])
        .collect();
    assert!(lines.contains(&&json!(at_mode)), "{lines:?} {at_mode}");
    let related = &editor.shown[WEB][0]["relatedInformation"];
    let related: Vec<&Value> = related
        .as_array()
        .unwrap()
        .iter()
        .map(|related| &related["location"]["range"]["start"]["line"])
        .collect();
    assert!(related.contains(&&json!(at_mode)), "{related:?} {at_mode}");
}

#[test]
fn the_lines_that_are_typed_grow_and_shrink() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    editor.open_document(WEB, NOT_REWRITTEN);
    let typed = "  labels: [a,\n   b,\n   c]\n";
    let (before, after) = NOT_REWRITTEN.split_at(NOT_REWRITTEN.find("spec:").unwrap());
    for end in (0..typed.len()).chain((0..typed.len()).rev()) {
        let text = format!("{before}{}\n{after}", &typed[..end]);
        editor.change(WEB, &text);
        editor.settle();
        let line = text
            .lines()
            .position(|line| line.contains("readinessProbe"));
        assert_eq!(
            editor.hints(WEB)[0]["position"]["line"],
            json!(line),
            "{text}"
        );
    }
}

#[test]
fn hints_stay_while_the_client_saves_half_typed_text() {
    let project = broken_project();
    let draft = half_typed();
    let mut editor = editor_with_draft(&project, &draft);
    for (reason, hints) in [(2, 1), (3, 1), (1, 0)] {
        project.write(WEB, &draft);
        editor.will_save(WEB, reason);
        editor.save(WEB);
        editor.changed_on_disk(WEB, 2);
        editor.settle();
        assert_eq!(editor.hints(WEB).len(), hints, "{reason}");
        let summary = editor.summary(WEB);
        let is_error = |found: &String| found.starts_with("1 syntax-error ");
        assert!(summary.iter().any(is_error), "{summary:?}");
    }
}
