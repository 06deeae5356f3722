//! A workload of a base is found in every overlay by where it was written, whatever its name there.

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

/// A base with this manifest, and an overlay with these fields.
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
fn refused(project: &Project, why: &str) {
    let before = project.read("base/web.yaml");
    let run = rewrite(project).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    assert!(message.contains(why), "{why}\n{message}");
    assert_eq!(project.read("base/web.yaml"), before);
}

#[track_caller]
fn rewritten(project: &Project, pods: usize) {
    let message = format!("Rewrote {pods} pod");
    rewrite(project).exits(0).complains(&message);
    rewrite(project).exits(0).complains("Nothing to");
}

fn json(operations: &str) -> String {
    format!("patches:\n- target: {{kind: Deployment, name: web}}\n  patch: '[{operations}]'")
}

const RENAME: &str = "{op: replace, path: /metadata/name, value: shop-front}";

#[test]
fn a_renamed_pod_that_no_mesh_injects_is_left_alone() {
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
        rewrite(&project).exits(0).complains("Nothing to");
        assert_eq!(project.read("base/web.yaml"), web("web"), "{overlay}");
    }
}

#[test]
fn a_renamed_pod_whose_annotations_are_replaced_is_refused() {
    let annotations = "{op: add, path: /spec/template/metadata/annotations, value: {a: b}}";
    let overlay = json(&format!("{RENAME}, {annotations}"));
    refused(
        &project(&web("web"), &overlay),
        "would not take over what is written",
    );
    let kind = "patches:\n- options: {allowNameChange: true, allowKindChange: true}\n  target: {kind: Deployment}\n  patch: |\n    \
                apiVersion: apps/v1\n    kind: StatefulSet\n    metadata: {name: other}\n    \
                spec: {template: {metadata: {annotations: {$patch: replace, a: b}}}}";
    refused(
        &project(&web("web"), kind),
        "would not take over what is written",
    );
}

#[test]
fn a_renamed_pod_is_rewritten_where_nothing_else_changes() {
    for overlay in [
        json(RENAME),
        "patches:\n- options: {allowNameChange: true}\n  target: {kind: Deployment}\n  patch: |\n    \
         apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: other}"
            .to_owned(),
        "replacements:\n- source: {kind: Namespace, name: shop}\n  \
         targets: [{select: {kind: Deployment}}]"
            .to_owned(),
    ] {
        rewritten(&project(&web("web"), &overlay), 1);
    }
}

#[test]
fn items_of_a_list_are_told_apart() {
    for overlay in ["", "namePrefix: a-", &json(RENAME)] {
        rewritten(&project(&list(), overlay), 2);
    }
    // The first item alone is changed by the overlay.
    let path = "/spec/template/spec/containers/0/readinessProbe/httpGet/path";
    let overlay = json(&format!("{{op: replace, path: {path}, value: /new}}"));
    let project = project(&list(), &overlay);
    let run = rewrite(&project).exits(1).complains("Rewrote 1 pod");
    run.complains("Deployment/web is not rewritten");
    let after = project.read("base/web.yaml");
    assert_eq!(
        after.matches("/app-health/web/readyz").count(),
        2,
        "{after}"
    );
}

#[test]
fn undoing_finds_a_renamed_pod() {
    let project = project(&web("web"), &json(RENAME));
    rewritten(&project, 1);
    let rewritten = project.read("base/web.yaml");
    let path = "/spec/template/spec/containers/0/readinessProbe/timeoutSeconds";
    let change = format!("{RENAME}, {{op: add, path: {path}, value: 7}}");
    let overlay = format!("resources: [../base]\n{}\n", json(&change));
    project.write("over/kustomization.yaml", overlay);
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    run.complains("error[kustomize-overlay]");
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
    run.exits(1).complains("error[context-only]");
    assert_eq!(project.read("base/web.yaml"), web("web"));
}

#[test]
fn a_patch_that_is_for_other_objects_after_the_rewrite_is_seen() {
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
                   patch: '[{op: replace, path: /spec/containers/0/image, value: other}]'";
    refused(&project(pod, overlay), "would change in other fields, too");
}

#[test]
fn what_a_replacement_copies_from_a_probe_keeps_the_base_as_it_is() {
    let replacement = |path: &str| {
        format!(
            "replacements:\n- source: {{kind: Deployment, name: web, fieldPath: {path}}}\n  \
             targets: [{{select: {{kind: Namespace}}, fieldPaths: [metadata.annotations.a], options: {{create: true}}}}]"
        )
    };
    let container = "spec.template.spec.containers.0";
    let probe = replacement(&format!("{container}.readinessProbe.httpGet.port"));
    refused(
        &project(&web("web"), &probe),
        "may copy its probes into other objects",
    );
    let port = replacement(&format!("{container}.ports.0.name"));
    rewritten(&project(&web("web"), &port), 1);
}

#[test]
fn a_replacement_that_may_change_the_namespace_keeps_the_base_as_it_is() {
    let replacement = |path: &str| {
        format!(
            "replacements:\n- source: {{kind: Deployment, name: web, fieldPath: metadata.name}}\n  \
             targets: [{{select: {{kind: Namespace}}, fieldPaths: [{path}]}}]"
        )
    };
    let hidden = "is not modelled: what it changes is not seen";
    for path in ["metadata.name", "metadata.labels.istio-injection"] {
        refused(&project(&web("web"), &replacement(path)), hidden);
    }
    rewritten(
        &project(&web("web"), &replacement("metadata.labels.team")),
        1,
    );
}

#[test]
fn a_probe_that_an_overlay_alone_brings_in_is_reported() {
    let bare = web("web").replace(
        "        readinessProbe: {httpGet: {path: /ready, port: http}}\n",
        "",
    );
    let path = "/spec/template/spec/containers/0/livenessProbe";
    let probe = format!("{{op: add, path: {path}, value: {{tcpSocket: {{port: 8080}}}}}}");
    let project = project(&bare, &json(&probe));
    refused(&project, "changes its probes or how they are rewritten");
}
