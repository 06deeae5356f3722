//! Compares the requests that `check` names for paths of probes with those of Go's HTTP client: `fixtures/istio/README.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::support::{findings, meshprobe};

const NAMESPACE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

/// Returns the lines of the fixture.
fn cases() -> Vec<Value> {
    let path = format!("{}/fixtures/istio/paths.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns a namespace with one pod per path. JSON strings are YAML.
fn manifest(cases: &[Value]) -> String {
    let mut text = NAMESPACE.to_owned();
    for (index, case) in cases.iter().enumerate() {
        writeln!(
            text,
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{index}, namespace: shop}}\nspec:\n  containers:\n  \
             - name: web\n    image: registry.example/web:1\n    livenessProbe: {{httpGet: {{port: 8080, path: {}}}}}",
            case["path"].to_string().replace('\u{7f}', "\\u007f")
        )
        .unwrap();
    }
    text
}

/// Returns what the finding about a path says; `None` if both requests are equal.
fn expected(case: &Value) -> Option<String> {
    let path = case["path"].as_str().unwrap();
    match (case["kubelet"].as_str(), case["agent"].as_str()) {
        (Some(kubelet), Some(agent)) if kubelet == agent => None,
        (Some(kubelet), Some(agent)) => Some(format!(
            "the kubelet requests `{kubelet}`, but the agent requests `{agent}`"
        )),
        (Some(kubelet), None) => Some(format!(
            "the kubelet requests `{kubelet}`, but the agent cannot parse `{path}`"
        )),
        (None, Some(agent)) => Some(format!(
            "the kubelet cannot request `{path}`, and the agent requests `{agent}`"
        )),
        (None, None) => Some(format!(
            "neither the kubelet nor the agent can request `{path}`"
        )),
    }
}

#[test]
fn paths_are_read_as_the_kubelet_and_the_agent_read_them() {
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pods.yaml"), manifest(&cases)).unwrap();
    let run = meshprobe(
        folder.path(),
        &[
            "check",
            "--mesh",
            "istio",
            "--mesh-version",
            "1.31",
            "--output-format",
            "json",
            ".",
        ],
        "",
    );
    let mut reported: BTreeMap<String, String> = BTreeMap::new();
    for finding in findings(&run) {
        if finding["rule"] == "probe-path-not-a-path" {
            let pod = finding["object"]["name"].as_str().unwrap().to_owned();
            reported.insert(pod, finding["message"].as_str().unwrap().to_owned());
        }
    }
    let mut equal = 0;
    for (index, case) in cases.iter().enumerate() {
        let message = reported.get(&format!("pod-{index}"));
        let requests = message
            .and_then(|message| message.split_once(": "))
            .map(|(_, tail)| tail);
        assert_eq!(requests, expected(case).as_deref(), "{case}");
        equal += usize::from(message.is_none());
    }
    assert!(equal > 500 && cases.len() - equal > 500, "{equal} equal");
}
