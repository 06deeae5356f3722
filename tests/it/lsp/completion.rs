//! Completion of labels, annotations, their values and rules, in text that is being typed.

use serde_json::Value;

use super::editor::{Editor, edited};
use super::requests::{MESH, WEB, mesh, position_of};
use crate::support::manifest::{INJECTED, PROBED};
use crate::support::project::Project;

/// Returns the items at the `|` of a document that is not saved, and the text after one of them is applied.
fn complete(marked: &str, label: &str) -> (Vec<String>, String, Value) {
    let text = marked.replacen('|', "", 1);
    let project = Project::with(&[(MESH, INJECTED), (WEB, PROBED)]);
    let mut editor = Editor::open(&project);
    // While the text is not valid, the last valid one is analysed.
    editor.open_document(WEB, PROBED);
    editor.change(WEB, &text);
    let position = position_of(marked, "|");
    let items = editor.ask_at("completion", WEB, &position);
    let items = items.as_array().cloned().unwrap_or_default();
    let labels = items
        .iter()
        .map(|item| item["label"].as_str().unwrap().to_owned());
    let labels: Vec<String> = labels.collect();
    let Some(item) = items.iter().find(|item| item["label"] == label) else {
        return (labels, String::new(), Value::Null);
    };
    let changes = serde_json::json!({ "changes": { editor.uri(WEB): [item["textEdit"].clone()] } });
    let after = edited(&editor, WEB, &text, &changes);
    (labels, after, item.clone())
}

#[test]
fn annotations_of_a_pod_are_offered_in_half_typed_text() {
    let marked = "\
kind: Deployment
spec:
  template:
    metadata:
      labels: {app: '𝄞'}
      annotations:
        note: ü
        sidecar.istio.io/rew|
    spec:
      containers: [
";
    let name = "sidecar.istio.io/rewriteAppHTTPProbers";
    let (labels, after, item) = complete(marked, name);
    assert_eq!(
        after,
        marked.replace("sidecar.istio.io/rew|", &format!("{name}: "))
    );
    for other in ["linkerd.io/inject", "sidecar.istio.io/proxyCPU"] {
        assert!(labels.iter().any(|label| label == other), "{other}");
    }
    assert!(!labels.iter().any(|label| label == "istio-injection"));
    let text = item["documentation"]["value"].as_str().unwrap();
    assert!(
        text.contains("Switches the rewrite of probes on or off"),
        "{text}"
    );
    assert_eq!(item["detail"], "Istio");
    // The pods of the project are part of Istio.
    assert_eq!(item["sortText"], format!("0{name}"));
    let (_, _, other) = complete(marked, "linkerd.io/inject");
    assert_eq!(other["sortText"], "1linkerd.io/inject");
}

#[test]
fn labels_of_a_namespace_and_their_values_are_offered() {
    let typed = "apiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n    ";
    let (labels, after, _) = complete(&format!("{typed}ist|"), "istio-injection");
    assert_eq!(after, format!("{typed}istio-injection: "));
    assert!(
        !labels.iter().any(|label| label.contains("rewrite")),
        "{labels:?}"
    );
    let (labels, after, _) = complete(&format!("{typed}istio-injection: |"), "enabled");
    assert_eq!(labels, ["enabled", "disabled"]);
    assert_eq!(after, format!("{typed}istio-injection: enabled"));
}

#[test]
fn values_that_yaml_reads_as_booleans_are_quoted() {
    let typed = "kind: Pod\nmetadata:\n  annotations:\n    sidecar.istio.io/inject: ";
    let (labels, after, _) = complete(&format!("{typed}fa|"), "false");
    assert_eq!(labels, ["true", "false"]);
    assert_eq!(after, format!("{typed}\"false\""));
    let (_, after, _) = complete(&format!("{typed}\"tr|ue\""), "true");
    assert_eq!(after, format!("{typed}\"true\""));
}

#[test]
fn rules_are_offered_in_a_suppression() {
    let marked = "kind: Pod\n# meshprobe: ignore[strict|]\n";
    let (labels, after, item) = complete(marked, "strict-probe-not-rewritten");
    assert_eq!(
        after,
        marked.replace("strict|", "strict-probe-not-rewritten")
    );
    assert!(labels.len() > 150, "{}", labels.len());
    let text = item["documentation"]["value"].as_str().unwrap();
    assert!(text.contains("## Why it matters"), "{text}");
}

#[test]
fn other_places_offer_nothing() {
    for marked in [
        "|",
        "kind: Pod\nmetadata:\n  name: w|\n",
        "kind: Deployment\nmetadata:\n  annotations:\n    s|\n",
        "kind: Service\nmetadata:\n  labels:\n    s|\n",
        "kind: Pod\nmetadata:\n  labels:\n    app: w|\n",
        "kind: Pod\nmetadata:\n  annotations:\n    # sidecar|\n",
    ] {
        assert_eq!(complete(marked, "").0, Vec::<String>::new(), "{marked}");
    }
    // A document that is not open has no text that is being typed.
    let project = Project::with(&[(MESH, &mesh())]);
    let mut editor = Editor::open(&project);
    assert_eq!(
        editor.ask("completion", MESH, &mesh(), "istio"),
        Value::Null
    );
}
