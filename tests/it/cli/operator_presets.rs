//! Objects of operators that are merged over presets.

use crate::support::project::Project;

const PROBES: &str = "containers:\n      - name: main\n        image: a\n        livenessProbe: {initialDelaySeconds: 9}\n        \
    readinessProbe: {httpGet: {path: /, port: 80}}\n";

fn object(kind: &str, api: &str) -> String {
    format!(
        "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  template:\n    {PROBES}"
    )
}

fn check(text: &str) -> String {
    let project = Project::with(&[("a.yaml", text)]);
    project.run(&["check", "--output-format", "concise"]).stdout
}

#[test]
fn a_probe_without_a_handler_is_not_refused_in_an_object_of_an_operator() {
    let found = check(&object("LLMInferenceService", "serving.kserve.io/v1alpha1"));
    assert!(!found.contains("refuses"), "{found}");
    assert!(found.contains("describes a part of a pod"), "{found}");
    let found = check(&object("Runner", "ci.example.com/v1"));
    assert!(!found.contains("refuses"), "{found}");
    // The API server validates its own kinds.
    let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n    {PROBES}");
    let found = check(&pod);
    assert!(
        found.contains("the API server refuses livenessProbe"),
        "{found}"
    );
}
