//! A value that a kustomization sets over another one is not redundant: without it, the other value applies.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const KEY: &str = "sidecar.istio.io/rewriteAppHTTPProbers";
const RULE: &str = "redundant-rewrite-annotation";

/// The patch that turns the rewrite on, without its indentation.
const PATCH: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {metadata: {annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'true'}}}}
";

const JSON: &str = "[{\"op\": \"OP\", \"path\": \
     \"/spec/template/metadata/annotations/sidecar.istio.io~1rewriteAppHTTPProbers\", \"value\": \"true\"}]";

fn base(annotations: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}, annotations: {{{annotations}}}}}\n    spec:\n      containers:\n      \
         - {{name: web, image: 'web:1', ports: [{{name: http, containerPort: 8080}}], livenessProbe: {{tcpSocket: {{port: http}}}}}}\n"
    )
}

/// Returns the ids of the findings about an overlay with these fields on a base with these annotations.
fn rules(annotations: &str, fields: &str, patch: &str) -> Vec<String> {
    let fields = format!("namespace: shop\nresources: [ns.yaml, ../base]\n{fields}\n");
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: on.yaml}]\n";
    let project = Project::with(&[
        ("base/web.yaml", &base(annotations)),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("on/kustomization.yaml", component),
        ("on/on.yaml", PATCH),
        ("prod/patch.yaml", patch),
        ("prod/ns.yaml", INJECTED),
        ("prod/kustomization.yaml", &fields),
    ]);
    let arguments = ["check", "--mesh-version", "1.30", "--output-format", "json"];
    let run = project.run(&arguments);
    let found = findings(&run);
    let rule = |finding: &Value| finding["rule"].as_str().unwrap().to_owned();
    found.iter().map(rule).collect()
}

/// Returns the overlays that set the annotation: their fields, and the text of `patch.yaml`.
fn overlays(operation: &str) -> Vec<(String, String)> {
    let json = JSON.replace("OP", operation);
    let inline = |text: &str, target: &str| {
        let text = text.replace('\n', "\n      ");
        format!("patches:\n  - patch: |-\n      {text}\n{target}")
    };
    let target = "    target: {kind: Deployment}\n";
    vec![
        ("patches: [{path: patch.yaml}]".to_owned(), PATCH.to_owned()),
        (
            "patches: [{path: patch.yaml, target: {kind: Deployment}}]".to_owned(),
            PATCH.to_owned(),
        ),
        (inline(PATCH, ""), String::new()),
        (inline(PATCH, target), String::new()),
        (
            "patchesStrategicMerge: [patch.yaml]".to_owned(),
            PATCH.to_owned(),
        ),
        ("components: [../on]".to_owned(), String::new()),
        (
            "patches: [{path: patch.yaml, target: {kind: Deployment}}]".to_owned(),
            json.clone(),
        ),
        (inline(&json, target), String::new()),
        (
            "patchesJson6902: [{path: patch.yaml, target: {group: apps, version: v1, kind: Deployment, name: web}}]"
                .to_owned(),
            json,
        ),
        (
            format!("commonAnnotations: {{{KEY}: 'true'}}"),
            String::new(),
        ),
    ]
}

#[test]
fn a_value_over_another_one_is_not_redundant() {
    let base = format!("{KEY}: 'false'");
    for (fields, patch) in overlays("replace").into_iter().chain(overlays("add")) {
        let found = rules(&base, &fields, &patch);
        assert_eq!(found, [""; 0], "{fields}");
    }
    // The last of several steps sets the same value again.
    let twice = format!("components: [../on]\ncommonAnnotations: {{{KEY}: 'true'}}");
    assert_eq!(rules(&base, &twice, ""), [""; 0]);
}

#[test]
fn a_value_over_the_same_or_no_value_is_redundant() {
    for base in ["a: b".to_owned(), format!("{KEY}: 'true'")] {
        for (fields, patch) in overlays("add") {
            let found = rules(&base, &fields, &patch);
            assert_eq!(found, [RULE], "{base} {fields}");
        }
    }
}

/// Without the value of the component, that of the object applies to its pods.
#[test]
fn a_value_over_that_of_the_inference_service_is_not_redundant() {
    let object = |own: &str| {
        format!(
            "{INJECTED}---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {{name: x, namespace: shop, \
             annotations: {{{own}}}}}\nspec:\n  predictor:\n    annotations: {{{KEY}: 'true'}}\n    containers: [{{name: web, image: \
             a, readinessProbe: {{httpGet: {{port: 8080}}}}}}]\n"
        )
    };
    let rules = |text: &str| {
        let project = Project::with(&[("x.yaml", text)]);
        let arguments = ["check", "--mesh-version", "1.30", "--output-format", "json"];
        let run = project.run(&arguments);
        let found = findings(&run);
        found.iter().any(|finding| finding["rule"] == RULE)
    };
    assert!(rules(&object("a: b")));
    assert!(!rules(&object(&format!("{KEY}: 'false'"))));
}
