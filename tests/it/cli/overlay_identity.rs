//! A workload of a base is identified in every overlay by its source location, not by its name there.

use crate::support::Run;
use crate::support::project::Project;

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
";

fn web(name: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        ports: [{{name: http, containerPort: 8080}}]
        readinessProbe: {{httpGet: {{path: /ready, port: http}}}}
"
    )
}

/// Two Deployments in one document; the name of the first is part of the name of the second.
fn list() -> String {
    let item = |name| {
        let indented = web(name).replace('\n', "\n  ");
        format!("- {}\n", indented.trim_end())
    };
    let items = ["web", "web-2"].map(item).concat();
    format!("apiVersion: v1\nkind: List\nitems:\n{items}")
}

/// A base with the given manifest, and an overlay with the given fields.
fn project(manifest: &str, overlay: &str) -> Project {
    Project::with(&[
        ("base/web.yaml", manifest),
        ("base/ns.yaml", NAMESPACE),
        (
            "base/kustomization.yaml",
            "resources: [web.yaml, ns.yaml]\n",
        ),
        (
            "over/kustomization.yaml",
            &format!("resources: [../base]\n{overlay}\n"),
        ),
    ])
}

fn rewrite(project: &Project) -> Run {
    project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
}

#[track_caller]
fn assert_refused(project: &Project, why: &str) {
    let before = project.read("base/web.yaml");
    let run = rewrite(project).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    assert!(message.contains(why), "{why}\n{message}");
    assert_eq!(project.read("base/web.yaml"), before);
}

#[track_caller]
fn assert_rewritten(project: &Project, pods: usize) {
    let message = format!("{pods} of {pods} workload");
    rewrite(project).exits(0).stderr_contains(&message);
    rewrite(project).exits(0).stderr_contains("Nothing to");
}

fn json(operations: &str) -> String {
    format!(
        "patches:\n- target: {{kind: Deployment, name: web}}\n  patch: |\n    # YAML\n    [{operations}]"
    )
}

const RENAME: &str = "{op: replace, path: /metadata/name, value: shop-front}";

#[test]
fn a_renamed_pod_that_no_mesh_injects_is_not_changed() {
    let out = "{op: add, path: /spec/template/metadata/labels/sidecar.istio.io~1inject, value: \"false\"}";
    for overlay in [
        json(&format!("{RENAME}, {out}")),
        json(&format!("{out}, {RENAME}")),
        format!(
            "{}\nnamePrefix: a-\nnameSuffix: -b",
            json(&format!("{RENAME}, {out}"))
        ),
    ] {
        let project = project(&web("web"), &overlay);
        rewrite(&project).exits(0).stderr_contains("Nothing to");
        assert_eq!(project.read("base/web.yaml"), web("web"), "{overlay}");
    }
}

#[test]
fn a_renamed_pod_whose_annotations_are_replaced_is_refused() {
    let annotations = "{op: add, path: /spec/template/metadata/annotations, value: {a: b}}";
    let overlay = json(&format!("{RENAME}, {annotations}"));
    assert_refused(
        &project(&web("web"), &overlay),
        "would not keep the rewrite",
    );
    let kind = "patches:\n- options: {allowNameChange: true, allowKindChange: true}\n  target: {kind: Deployment}\n  patch: |\n    \
                apiVersion: apps/v1\n    kind: StatefulSet\n    metadata: {name: other}\n    \
                spec: {template: {metadata: {annotations: {$patch: replace, a: b}}}}";
    assert_refused(&project(&web("web"), kind), "would not keep the rewrite");
}

#[test]
fn a_renamed_pod_is_rewritten_if_nothing_else_changes() {
    for overlay in [
        json(RENAME),
        "patches:\n- options: {allowNameChange: true}\n  target: {kind: Deployment}\n  patch: |\n    \
         apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: other}"
            .to_owned(),
        "replacements:\n- source: {kind: Namespace, name: shop}\n  \
         targets: [{select: {kind: Deployment}}]"
            .to_owned(),
    ] {
        assert_rewritten(&project(&web("web"), &overlay), 1);
    }
}

#[test]
fn items_of_a_list_are_distinguished() {
    for overlay in ["", "namePrefix: a-", &json(RENAME)] {
        assert_rewritten(&project(&list(), overlay), 2);
    }
    // The overlay changes only the first item.
    let path = "/spec/template/spec/containers/0/readinessProbe/httpGet/path";
    let overlay = json(&format!("{{op: replace, path: {path}, value: /new}}"));
    let project = project(&list(), &overlay);
    let run = rewrite(&project)
        .exits(1)
        .stderr_contains("1 of 2 workloads rewritten, 1 refused.");
    run.stderr_contains("Deployment/web is not rewritten");
    let after = project.read("base/web.yaml");
    assert_eq!(
        after.matches("/app-health/web/readyz").count(),
        2,
        "{after}"
    );
}

#[test]
fn undo_finds_a_renamed_pod() {
    let project = project(&web("web"), &json(RENAME));
    assert_rewritten(&project, 1);
    let rewritten = project.read("base/web.yaml");
    let path = "/spec/template/spec/containers/0/readinessProbe/timeoutSeconds";
    let change = format!("{RENAME}, {{op: add, path: {path}, value: 7}}");
    let overlay = format!("resources: [../base]\n{}\n", json(&change));
    project.write("over/kustomization.yaml", overlay);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    run.stderr_contains("error[kustomize-overlay]");
    assert_eq!(project.read("base/web.yaml"), rewritten);
}

#[test]
fn a_renamed_pod_of_a_base_that_is_only_context_is_not_edited() {
    let project = project(&web("web"), &json(RENAME));
    let run = project.run(&[
        "rewrite",
        "--write",
        "--mesh-version",
        "1.28",
        "--context",
        "base",
        "over",
    ]);
    run.exits(1).stderr_contains("error[context-only]");
    assert_eq!(project.read("base/web.yaml"), web("web"));
}

#[test]
fn a_patch_that_selects_other_objects_after_the_rewrite_is_detected() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, annotations: {team: shop}}
spec:
  containers:
  - name: web
    image: registry.example/web:1
    ports: [{name: http, containerPort: 8080}]
    readinessProbe: {httpGet: {path: /ready, port: http}}
";
    let overlay = "patches:\n- target: {kind: Pod, annotationSelector: '!proxy.istio.io/config'}\n  \
                   patch: '- {op: replace, path: /spec/containers/0/image, value: other}'";
    assert_refused(
        &project(pod, overlay),
        "would also render other fields differently",
    );
}

#[test]
fn a_replacement_that_copies_from_a_probe_prevents_the_rewrite() {
    let replacement = |path: &str| {
        format!(
            "replacements:\n- source: {{kind: Deployment, name: web, fieldPath: {path}}}\n  \
             targets: [{{select: {{kind: Namespace}}, fieldPaths: [metadata.annotations.a], options: {{create: true}}}}]"
        )
    };
    let container = "spec.template.spec.containers.0";
    let probe = replacement(&format!("{container}.readinessProbe.httpGet.port"));
    assert_refused(
        &project(&web("web"), &probe),
        "may copy its probes into other objects",
    );
    let port = replacement(&format!("{container}.ports.0.name"));
    assert_rewritten(&project(&web("web"), &port), 1);
}

#[test]
fn a_replacement_that_may_change_the_namespace_prevents_the_rewrite() {
    let replacement = |path: &str| {
        format!(
            "replacements:\n- source: {{kind: Deployment, name: web, fieldPath: metadata.name}}\n  \
             targets: [{{select: {{kind: Namespace}}, fieldPaths: [{path}]}}]"
        )
    };
    let hidden = "is not modelled: its changes are unknown";
    for path in ["metadata.name", "metadata.labels.istio-injection"] {
        assert_refused(&project(&web("web"), &replacement(path)), hidden);
    }
    assert_rewritten(
        &project(&web("web"), &replacement("metadata.labels.team")),
        1,
    );
}

#[test]
fn a_probe_that_only_an_overlay_adds_is_reported() {
    let bare = web("web").replace(
        "        readinessProbe: {httpGet: {path: /ready, port: http}}\n",
        "",
    );
    let path = "/spec/template/spec/containers/0/livenessProbe";
    let probe = format!("{{op: add, path: {path}, value: {{tcpSocket: {{port: 8080}}}}}}");
    let project = project(&bare, &json(&probe));
    assert_refused(&project, "changes its probes or how they are rewritten");
}
