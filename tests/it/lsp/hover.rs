//! Hover on probes, on lines that decide, and on labels and annotations.

use serde_json::json;

use super::editor::Editor;
use super::requests::{MESH, WEB, broken_project, byte_position_of, mesh, position_of};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

#[test]
fn a_probe_shows_every_fact_that_predict_explains() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let hover = editor.hover(WEB, NOT_REWRITTEN, "readinessProbe");
    assert!(
        hover.contains("**fails**: plain text on a port that requires mutual TLS"),
        "{hover}"
    );
    assert!(hover.contains("- **mTLS** STRICT *(known)*"), "{hover}");
    let link = format!("[mesh.yaml:8]({}#L8)", editor.uri(MESH));
    assert!(hover.contains(&link), "{hover}");
    let explained = project.run(&["predict", "--explain", "."]).stdout;
    let names = explained.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with([' ', '-']))?;
        Some(rest.get(..12)?.trim())
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 5, "{explained}");
    for name in names {
        assert!(hover.contains(&format!("**{name}**")), "{name} in {hover}");
    }
}

#[test]
fn the_fields_of_a_probe_show_the_same_as_its_key() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let key = editor.ask("hover", WEB, NOT_REWRITTEN, "readinessProbe");
    assert_eq!(
        key["range"]["start"],
        position_of(NOT_REWRITTEN, "readinessProbe")
    );
    for part in ["httpGet", "path", "8080"] {
        assert_eq!(editor.ask("hover", WEB, NOT_REWRITTEN, part), key, "{part}");
    }
}

#[test]
fn a_policy_shows_the_probes_that_it_breaks() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    for part in [
        "STRICT",
        "mode",
        "mtls",
        "PeerAuthentication",
        "name: default",
    ] {
        let hover = editor.hover(MESH, &mesh(), part);
        assert!(
            hover.starts_with("Decides 1 probe, **breaks 1**"),
            "{part}: {hover}"
        );
        let link = format!(
            "[shop/Pod/web: readinessProbe of container `web`]({}#L10)",
            editor.uri(WEB)
        );
        assert!(
            hover.contains(&format!("- **fails** {link}: STRICT for namespace `shop`")),
            "{hover}"
        );
    }
}

#[test]
fn a_label_or_annotation_of_a_mesh_shows_its_meaning_and_its_effect() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let hover = editor.hover(WEB, NOT_REWRITTEN, "sidecar.istio.io");
    assert!(
        hover.starts_with("`sidecar.istio.io/rewriteAppHTTPProbers` (Istio)"),
        "{hover}"
    );
    assert!(hover.contains("Values: `true`, `false`"), "{hover}");
    assert!(
        hover.contains("/docs/rules/strict-probe-not-rewritten.md)"),
        "{hover}"
    );
    assert!(hover.contains("**breaks 1**"), "{hover}");
    let label = editor.hover(MESH, &mesh(), "istio-injection");
    assert!(label.contains("Values: `enabled`, `disabled`"), "{label}");
    assert!(label.contains("Decides 1 probe"), "{label}");
}

#[test]
fn text_that_decides_nothing_has_no_hover() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    for (path, text, part) in [
        (WEB, NOT_REWRITTEN, "apiVersion: v1"),
        (WEB, NOT_REWRITTEN, "containers"),
        (WEB, NOT_REWRITTEN, "name: web\n    readiness"),
        (MESH, &mesh(), "---"),
    ] {
        let hover = editor.hover(path, text, part);
        assert_eq!(hover, "", "{part}");
    }
    assert_eq!(editor.hover("none.yaml", "a", "a"), "");
}

#[test]
fn unsaved_text_decides() {
    let project = broken_project();
    let mut editor = Editor::open(&project);
    let rewritten = NOT_REWRITTEN.replace("'false'", "'true'");
    editor.open_document(WEB, &rewritten);
    let hover = editor.hover(WEB, &rewritten, "readinessProbe");
    assert!(
        hover.contains("**becomes** `http :15020/app-health/web/readyz`"),
        "{hover}"
    );
    assert!(hover.contains("**ok**"), "{hover}");
}

#[test]
fn positions_count_in_the_encoding_of_the_client() {
    let web = NOT_REWRITTEN.replace("annotations: {", "annotations: {note: '𝄞ü', ");
    let project = Project::with(&[(MESH, &mesh()), (WEB, &web)]);
    let start = byte_position_of(&web, "sidecar.istio.io");
    for (encoding, position) in [
        ("utf-8", start.clone()),
        ("utf-16", position_of(&web, "sidecar.istio.io")),
    ] {
        let capabilities = json!({ "general": { "positionEncodings": [encoding] } });
        let mut editor = Editor::open_with(&project, capabilities, json!({}));
        let hover = editor.ask_at("hover", WEB, &position);
        assert_eq!(hover["range"]["start"], position, "{encoding}");
        assert_ne!(
            editor.ask_at("hover", WEB, &json!({ "line": 5, "character": 4 })),
            hover
        );
    }
    assert_ne!(start, position_of(&web, "sidecar.istio.io"));
}

#[test]
fn environments_with_different_outcomes_are_named() {
    let web = NOT_REWRITTEN.replace("  namespace: shop\n", "");
    let overlay = |namespace: &str| format!("namespace: {namespace}\nresources: [../base]\n");
    let project = Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", &web),
        ("prod/kustomization.yaml", &overlay("shop")),
        ("test/kustomization.yaml", &overlay("lab")),
        (
            "mesh.yaml",
            &join(&[INJECTED, STRICT, &INJECTED.replace("shop", "lab")]),
        ),
    ]);
    let mut editor = Editor::open(&project);
    let hover = editor.hover("base/web.yaml", &web, "readinessProbe");
    let (prod, test) = hover.split_once("\n---\n\n").unwrap();
    assert!(
        prod.starts_with("**shop/Pod/web") && prod.contains("**fails**"),
        "{prod}"
    );
    assert!(
        test.starts_with("**lab/Pod/web") && test.contains("**ok**"),
        "{test}"
    );
    assert!(test.contains("(`--assume mtls=STRICT`)"), "{test}");
    let hints = editor.hints("base/web.yaml");
    assert_eq!(hints[0]["label"], "fails (prod), ok (test)");
    let lenses = editor.lenses("base/web.yaml");
    assert_eq!(lenses, ["1: web: readinessProbe fails (prod), ok (test)"]);
}
