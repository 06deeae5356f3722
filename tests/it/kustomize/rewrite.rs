//! A rewritten base works in the build of every overlay by the real kustomize; if it would not, the base stays
//! unchanged.

use std::path::Path;
use std::process::Command;

use crate::support::{kustomize, meshprobe, predictions};

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {team: shop}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        ports: [{name: http, containerPort: 8080}]
        livenessProbe: {tcpSocket: {port: 8080}}
        readinessProbe: {httpGet: {path: /ready, port: http}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
";

/// Fields of an overlay, and whether the base can be rewritten below it: in the forms `annotation` and `container`.
const OVERLAYS: &[(&str, [bool; 2])] = &[
    ("namePrefix: a-", [true, true]),
    ("commonAnnotations: {a: b}", [true, true]),
    (
        "labels: [{pairs: {a: b}, includeTemplates: true}]",
        [true, true],
    ),
    (
        "images: [{name: registry.example/web, newTag: '2'}]",
        [true, true],
    ),
    ("images: [{name: auto, newTag: '2'}]", [true, false]),
    (
        "commonAnnotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'true'}",
        [false, false],
    ),
    (
        "json: {op: add, path: /spec/template/metadata/annotations/a, value: b}",
        [true, true],
    ),
    (
        "json: {op: remove, path: /spec/template/metadata/annotations/team}",
        [true, true],
    ),
    (
        "json: {op: add, path: /spec/template/metadata/annotations, value: {a: b}}",
        [false, false],
    ),
    (
        "json: {op: replace, path: /spec/template/metadata/annotations, value: {a: b}}",
        [false, false],
    ),
    (
        "json: {op: remove, path: /spec/template/metadata/annotations}",
        [false, false],
    ),
    (
        "json: {op: replace, path: /spec/template/metadata, value: {labels: {app: web}}}",
        [false, false],
    ),
    (
        "json: {op: test, path: /spec/template/metadata/annotations, value: {team: shop}}",
        [false, false],
    ),
    (
        "json: {op: test, path: /spec/template/spec/containers/0/livenessProbe/tcpSocket/port, value: 8080}",
        [false, false],
    ),
    (
        "json: {op: add, path: /spec/template/spec/containers/-, value: {name: b, image: c}}",
        [true, true],
    ),
    (
        "json: {op: add, path: /spec/template/spec/containers/0/readinessProbe/periodSeconds, value: 3}",
        [true, true],
    ),
    (
        "json: {op: add, path: /spec/template/spec/containers/0/readinessProbe/timeoutSeconds, value: 3}",
        [false, false],
    ),
    ("merge: {metadata: {annotations: {a: b}}}", [true, true]),
    (
        "merge: {metadata: {annotations: {$patch: replace, a: b}}}",
        [false, false],
    ),
    ("merge: {metadata: {annotations: null}}", [false, false]),
    (
        "merge: {spec: {containers: [{name: web, readinessProbe: {periodSeconds: 3}}]}}",
        [true, true],
    ),
    (
        "merge: {spec: {containers: [{name: istio-proxy, image: other}]}}",
        [false, false],
    ),
    (
        "merge: {spec: {containers: [{$patch: replace}, {name: web, image: c}]}}",
        [false, false],
    ),
    (
        "replacements: [{source: {kind: Namespace, name: shop}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.readinessProbe.httpGet.path]}]}]",
        [false, false],
    ),
    (
        "replacements: [{source: {kind: Namespace, name: shop}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.image]}]}]",
        [true, true],
    ),
];

fn overlay(fields: &str) -> String {
    let fields = if let Some(operation) = fields.strip_prefix("json: ") {
        format!("patches: [{{target: {{kind: Deployment}}, patch: '- {operation}'}}]")
    } else if let Some(template) = fields.strip_prefix("merge: ") {
        let object =
            "apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}";
        format!("patches: [{{patch: '{{{object}, spec: {{template: {template}}}}}'}}]")
    } else {
        fields.to_owned()
    };
    format!("resources: [../base]\n{fields}\n")
}

/// Returns the predicted outcomes for the build of the overlay.
fn outcomes(kustomize: &Path, tree: &Path, fields: &str) -> Vec<String> {
    let output = Command::new(kustomize)
        .arg("build")
        .arg(tree.join("over"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fields}: {error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let arguments = [
        "predict",
        "--isolated",
        "--mesh-version",
        "1.28",
        "--output-format",
        "json",
        "-",
    ];
    let run = meshprobe(tree, &arguments, &text);
    predictions::outcomes(&run)
}

#[test]
fn a_rewrite_survives_the_build_of_the_overlay() {
    let Some(kustomize) = kustomize() else { return };
    let mut written = 0;
    for (fields, expected) in OVERLAYS {
        for (form, expected) in ["annotation", "container"].into_iter().zip(expected) {
            let tree = tempfile::tempdir().unwrap();
            for (path, text) in [
                (".git/HEAD", ""),
                ("base/web.yaml", WEB),
                ("base/kustomization.yaml", "resources: [web.yaml]\n"),
                ("over/kustomization.yaml", overlay(fields).as_str()),
            ] {
                let path = tree.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let arguments = [
                "rewrite",
                "--isolated",
                "--write",
                "--form",
                form,
                "--mesh-version",
                "1.28",
                ".",
            ];
            let run = meshprobe(tree.path(), &arguments, "");
            let after = std::fs::read_to_string(tree.path().join("base/web.yaml")).unwrap();
            assert_eq!(after != WEB, *expected, "{form} {fields}\n{}", run.stderr);
            assert_eq!(run.code, i32::from(!expected), "{form} {fields}");
            if *expected {
                written += 1;
                let outcomes = outcomes(&kustomize, tree.path(), fields);
                assert_eq!(outcomes, ["ok", "ok"], "{form} {fields}");
            }
        }
    }
    println!("{written} of {} bases were rewritten", 2 * OVERLAYS.len());
}
