//! Diagnostics at the probes and at their causes.

use serde_json::{Value, json};

use super::editor::Editor;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

fn project() -> Project {
    Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", NOT_REWRITTEN),
        (
            "api.yaml",
            &NOT_REWRITTEN.replace("name: web\n", "name: api\n"),
        ),
    ])
}

#[test]
fn a_finding_is_shown_at_the_probe_with_the_deciding_lines() {
    let project = project();
    let editor = Editor::open(&project);
    let [diagnostic] = editor.shown["web.yaml"].as_slice() else {
        panic!("{:#?}", editor.shown);
    };
    assert_eq!(diagnostic["source"], "meshprobe");
    assert_eq!(diagnostic["code"], "strict-probe-not-rewritten");
    let page = diagnostic["codeDescription"]["href"].as_str().unwrap();
    assert!(
        page.ends_with("docs/rules/strict-probe-not-rewritten.md"),
        "{page}"
    );
    let related = diagnostic["relatedInformation"].as_array().unwrap();
    let mesh = editor.uri("mesh.yaml");
    assert!(
        related
            .iter()
            .any(|place| place["location"]["uri"] == mesh.as_str())
    );
    assert!(
        diagnostic["message"]
            .as_str()
            .unwrap()
            .contains("\nkubelet: ")
    );
}

#[test]
fn the_policy_names_the_probes_that_it_breaks() {
    let project = project();
    let editor = Editor::open(&project);
    assert_eq!(
        editor.summary("mesh.yaml"),
        ["3 strict-probe-not-rewritten 8: breaks 2 probes"]
    );
    let related = editor.shown["mesh.yaml"][0]["relatedInformation"]
        .as_array()
        .unwrap();
    let uris: Vec<&Value> = related
        .iter()
        .map(|place| &place["location"]["uri"])
        .collect();
    assert_eq!(
        uris,
        [
            editor.uri("api.yaml").as_str(),
            editor.uri("web.yaml").as_str()
        ]
    );
}

#[test]
fn a_suppressed_finding_is_a_hint() {
    let probe = "    readinessProbe:";
    let ignored = format!("    # meshprobe: ignore[strict-probe-not-rewritten] known\n{probe}");
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", &NOT_REWRITTEN.replace(probe, &ignored)),
    ]);
    let capabilities = json!({
        "textDocument": { "publishDiagnostics": { "tagSupport": { "valueSet": [1, 2] } } },
    });
    let editor = Editor::open_with(&project, capabilities, json!({}));
    let [diagnostic] = editor.shown["web.yaml"].as_slice() else {
        panic!("{:#?}", editor.shown);
    };
    assert_eq!(
        (&diagnostic["severity"], &diagnostic["tags"]),
        (&json!(4), &json!([1]))
    );
    assert!(!editor.shown.contains_key("mesh.yaml"));
}

#[test]
fn the_findings_are_those_of_check() {
    let project = project();
    let editor = Editor::open(&project);
    let report = project
        .run(&["check", "--output-format", "json", "."])
        .stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let messages = |list: &Value| -> Vec<String> {
        let messages = list.as_array().unwrap().iter();
        messages
            .map(|one| one["message"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut expected = messages(&report["findings"]);
    let mut shown: Vec<String> = editor
        .shown
        .values()
        .flatten()
        .filter_map(|diagnostic| Some(diagnostic["data"]["message"].as_str()?.to_owned()))
        .collect();
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
}
