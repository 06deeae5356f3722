//! Surrogate pairs in JSON, which kubectl reads and YAML does not permit.
//!
//! kubectl reads a text that starts with `{` as JSON: Kubernetes 1.34, `YAMLOrJSONDecoder`.

use serde_json::{Value, json};

use crate::support::project::Project;

/// An injected pod with a probe, in a list.
fn list(annotation: &str, path: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"istio-injection": "enabled"}}},
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "web", "namespace": "shop", "annotations": {"team": annotation}},
                "spec": {"containers": [{"name": "web", "livenessProbe": {"httpGet": {"path": path, "port": 8080}}}]},
            },
        ],
    })
}

/// Returns the annotations and the probe of the pod.
fn pod(text: &str) -> (Value, Value) {
    let list: Value = serde_json::from_str(text).unwrap();
    let pod = &list["items"][1];
    (
        pod["metadata"]["annotations"].clone(),
        pod["spec"]["containers"][0]["livenessProbe"]["httpGet"].clone(),
    )
}

/// Writes a surrogate pair in place of a character, as other languages do.
fn escaped(list: &Value) -> String {
    let text = serde_json::to_string_pretty(list).unwrap();
    text.replace('\u{1f600}', "\\ud83d\\ude00")
}

#[test]
fn json_with_surrogate_pairs_is_rewritten_and_restored() {
    for (annotation, path) in [
        ("\u{1f600}", "/h"),
        ("\u{1f600}\t\\b\"", "/h"),
        ("plain", "/\u{1f600}"),
    ] {
        let text = escaped(&list(annotation, path));
        let project = Project::with(&[("pods.json", &text)]);
        // An escaped character in a path is restored without the escape.
        if path == "/h" {
            project.assert_reversible("pods.json");
        }
        project
            .run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
            .exits(0);
        let (annotations, http) = pod(&project.read("pods.json"));
        assert_eq!(annotations["team"], annotation);
        assert_eq!(http["path"], "/app-health/web/livez");
        let check = project.run(&[
            "check",
            "--require-rewritten",
            "--mesh-version",
            "1.28",
            ".",
        ]);
        check.exits(0);
        project.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(pod(&project.read("pods.json")).1["path"], path);
    }
}

#[test]
fn a_list_with_such_json_passes_the_krm_function() {
    let mut list = list("\u{1f600}", "/h");
    list["apiVersion"] = json!("config.kubernetes.io/v1");
    list["kind"] = json!("ResourceList");
    list["functionConfig"] = json!({
        "apiVersion": "meshprobe.dev/v1alpha1",
        "kind": "MeshProbe",
        "spec": {"form": "annotation"},
    });
    let run = Project::new().pipe(&["krm"], escaped(&list)).exits(0);
    let (annotations, http) = pod(&run.stdout);
    assert_eq!(annotations["team"], "\u{1f600}");
    assert_eq!(http["path"], "/app-health/web/livez");
}

#[test]
fn other_texts_with_these_characters_are_not_changed() {
    let text = escaped(&list("x", "/h"));
    for (from, to) in [
        ("\"x\"", "\"\\ud83d\""),
        ("\"x\"", "\"x\" # \\ud83d\\ude00\n"),
        ("\"x\"", "x\\ud83d\\ude00\u{7f}"),
        ("{\n  \"apiVersion\"", "{\u{7f}\n  \"apiVersion\""),
    ] {
        let text = text.replacen(from, to, 1);
        let project = Project::with(&[("pods.json", &text)]);
        let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
        let is_changed = project.read("pods.json") != text;
        assert!(!is_changed || to.contains('#'), "{to}: {}", run.stderr);
    }
    // kubectl reads a YAML document with a surrogate pair with go-yaml, which rejects it.
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {team: \"\\ud83d\\ude00\"}}\nspec:\n  containers:\n  \
                - name: web\n    livenessProbe: {httpGet: {path: /, port: 80}}\n";
    let project = Project::with(&[("pod.yaml", yaml)]);
    let options = ["--assume", "injection=all", "--mesh-version", "1.28"];
    let run = project.run(&[&["rewrite", "--write"], &options[..], &["."]].concat());
    run.exits(1);
    assert_eq!(project.read("pod.yaml"), yaml);
}
