//! Bases of kustomizations: every overlay that renders a base must keep the rewrite.

use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        ports: [{name: http, containerPort: 8080}]
        livenessProbe: {tcpSocket: {port: 8080}}
        readinessProbe: {httpGet: {path: /ready, port: http}}
";
const BASE: &str = "resources: [web.yaml, ns.yaml]\n";

/// A base, and an overlay with the given fields and files.
fn project(overlay: &str, files: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("base/web.yaml", WEB),
        ("base/ns.yaml", INJECTED),
        ("base/kustomization.yaml", BASE),
        (
            "over/kustomization.yaml",
            &format!("resources: [../base]\n{overlay}\n"),
        ),
    ]);
    for (path, text) in files {
        project.write(&format!("over/{path}"), text);
    }
    project
}

fn rewrite(project: &Project, form: &str) -> crate::support::Run {
    project.run(&[
        "rewrite",
        "--write",
        "--form",
        form,
        "--mesh-version",
        "1.28",
        ".",
    ])
}

/// Checks that the base is unchanged, and that the message of the guard contains `why`.
#[track_caller]
fn assert_refused(project: &Project, form: &str, why: &str) {
    let run = rewrite(project, form).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    assert!(message.contains(why), "{why}\n{message}");
    assert!(
        message.contains("0 of 1 workload rewritten, 1 refused."),
        "{message}"
    );
    assert_eq!(project.read("base/web.yaml"), WEB, "{form}");
}

#[track_caller]
fn assert_rewritten(project: &Project, form: &str) {
    rewrite(project, form)
        .exits(0)
        .stderr_contains("1 of 1 workload rewritten.");
    assert_ne!(project.read("base/web.yaml"), WEB);
    rewrite(project, form)
        .exits(0)
        .stderr_contains("Nothing to");
}

fn json(operations: &str) -> String {
    format!("patches:\n- target: {{kind: Deployment}}\n  patch: '[{operations}]'")
}

fn merge(template: &str) -> String {
    format!(
        "patches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {{name: web, namespace: shop}}\n    \
         spec: {{template: {template}}}"
    )
}

const LOST: &str = "`over/kustomization.yaml` would not keep the rewrite";

#[test]
fn a_base_whose_annotations_an_overlay_replaces_is_not_rewritten() {
    let annotations = "/spec/template/metadata/annotations";
    for overlay in [
        json(&format!(
            r#"{{"op": "add", "path": "{annotations}", "value": {{"a": "b"}}}}"#
        )),
        json(
            r#"{"op": "replace", "path": "/spec/template/metadata", "value": {"labels": {"app": "web"}}}"#,
        ),
        merge("{metadata: {annotations: {$patch: replace, a: b}}}"),
        merge("{metadata: {annotations: null}}"),
        json(&format!(
            r#"{{"op": "add", "path": "{annotations}", "value": {{}}}}, {{"op": "remove", "path": "{annotations}"}}"#
        )),
        json(&format!(
            r#"{{"op": "add", "path": "{annotations}", "value": {{}}}}, {{"op": "replace", "path": "{annotations}", "value": {{"a": "b"}}}}"#
        )),
    ] {
        for form in ["annotation", "container"] {
            assert_refused(&project(&overlay, &[]), form, LOST);
        }
        // The replaced fields contain nothing of this form.
        assert_rewritten(&project(&overlay, &[]), "container-only");
    }
}

#[test]
fn changes_of_an_overlay_to_the_partial_container_or_the_probes_are_detected() {
    let image = "images: [{name: auto, newName: registry.example/proxy}]";
    assert_refused(&project(image, &[]), "container", LOST);
    assert_rewritten(&project(image, &[]), "annotation");
    let last = json(
        r#"{"op": "add", "path": "/spec/template/spec/containers/1", "value": {"name": "other"}},
            {"op": "remove", "path": "/spec/template/spec/containers/1"}"#,
    );
    for form in ["annotation", "container"] {
        assert_rewritten(&project(&last, &[]), form);
    }
    // The patch does not change the original probe, but would change the rewritten one.
    let port = json(
        r#"{"op": "replace", "path": "/spec/template/spec/containers/0/livenessProbe/tcpSocket/port", "value": 8080}"#,
    );
    assert_refused(&project(&port, &[]), "annotation", "would no longer apply");
}

#[test]
fn an_overlay_that_adds_a_second_handler_to_a_probe_is_detected() {
    for (probe, actions) in [
        (
            "readinessProbe: {tcpSocket: {port: 8080}}",
            "(httpGet, tcpSocket)",
        ),
        ("livenessProbe: {grpc: {port: 8080}}", "(grpc, tcpSocket)"),
        ("readinessProbe: {exec: {command: [a]}}", "(exec, httpGet)"),
    ] {
        let overlay = merge(&format!(
            "{{spec: {{containers: [{{name: web, {probe}}}]}}}}"
        ));
        let reason = format!("several handlers {actions}, which the API server rejects");
        for form in ["annotation", "container-only"] {
            assert_refused(&project(&overlay, &[]), form, &reason);
        }
    }
}

#[test]
fn a_field_that_only_an_overlay_adds_and_the_prober_env_cannot_record_is_detected() {
    for fields in [
        "readinessProbe: {httpGet: {protocol: HTTP2}}",
        "livenessProbe: {tcpSocket: {mode: x}}",
    ] {
        let overlay = merge(&format!(
            "{{spec: {{containers: [{{name: web, {fields}}}]}}}}"
        ));
        assert_refused(&project(&overlay, &[]), "annotation", "changes its probes");
    }
}

#[test]
fn a_patch_of_a_flux_kustomization_is_detected_and_the_help_works() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  path: ./apps\n  \
                patches:\n  - target: {kind: Deployment}\n    patch: |\n      - {op: add, path: /spec/template/metadata/annotations, value: {a: b}}\n";
    let project = Project::with(&[
        ("apps/web.yaml", WEB),
        ("clusters/prod/ns.yaml", INJECTED),
        ("clusters/prod/apps.yaml", flux),
    ]);
    let run = rewrite(&project, "annotation").exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = "flux build kustomization apps --path apps --kustomization-file clusters/prod/apps.yaml --dry-run | meshprobe rewrite --context . -";
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    assert!(message.contains(help), "{message}");
    assert_eq!(project.read("apps/web.yaml"), WEB);
}

#[test]
fn only_the_pods_that_an_overlay_breaks_are_not_rewritten() {
    let other = WEB.replace("name: web, namespace", "name: other, namespace");
    let overlay = "patches:\n- target: {kind: Deployment, name: web}\n  patch: '- {op: add, path: /spec/template/metadata/annotations, value: {}}'";
    let project = project(overlay, &[]);
    project.write("base/web.yaml", format!("{WEB}---\n{other}"));
    let run = rewrite(&project, "annotation").exits(1);
    let run = run.stderr_contains("1 of 2 workloads rewritten, 1 refused. Changed 1 file");
    let run = run.stderr_contains("Deployment/web is not rewritten");
    assert!(!run.stderr.contains("release-assumed"), "{}", run.stderr);
    let after = project.read("base/web.yaml");
    let (first, second) = after.split_once("---\n").unwrap();
    assert_eq!(first, WEB);
    assert!(second.contains("/app-health/web/readyz"), "{second}");
}

#[test]
fn undo_applies_the_same_check() {
    let project = project("", &[]);
    assert_rewritten(&project, "annotation");
    let rewritten = project.read("base/web.yaml");
    // The annotation is added to those of the rewrite, which are the only ones.
    let patch =
        json(r#"{"op": "add", "path": "/spec/template/metadata/annotations/a", "value": "b"}"#);
    project.write(
        "over/kustomization.yaml",
        format!("resources: [../base]\n{patch}\n"),
    );
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    let run = run.stderr_contains("error[kustomize-overlay]");
    run.stderr_contains("meshprobe rewrite --undo --context . -");
    assert_eq!(project.read("base/web.yaml"), rewritten);
}

const HIDDEN: &str = "is not modelled: its changes are unknown";

#[test]
fn fields_that_are_not_modelled_and_may_change_a_probe_prevent_the_rewrite() {
    let patch = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\ntarget: {kind: Deployment}\n\
                 patch: '- {op: replace, path: /spec/template/spec/containers/0/readinessProbe/httpGet/path, value: /new}'\n";
    let foreign = "apiVersion: example.test/v1\nkind: Anything\nmetadata: {name: t}\n";
    let label = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: t}\nlabels: {sidecar.istio.io/inject: 'false'}\n\
                 fieldSpecs: [{path: spec/template/metadata/labels}]\n";
    for config in [patch, foreign, label] {
        let project = project("transformers: [t.yaml]", &[("t.yaml", config)]);
        assert_refused(&project, "annotation", HIDDEN);
    }
    let replacement = |path: &str| {
        format!(
            "replacements:\n- source: {{kind: Namespace, name: shop}}\n  targets: [{{select: {{kind: Deployment}}, fieldPaths: [{path}]}}]"
        )
    };
    let path = "spec.template.spec.containers.0.readinessProbe.httpGet.path";
    assert_refused(&project(&replacement(path), &[]), "annotation", HIDDEN);
    let in_file = "source: {kind: Namespace, name: shop}\ntargets: [{select: {kind: Deployment}, fieldPaths: [spec.template]}]\n";
    let file = project("replacements: [{path: r.yaml}]", &[("r.yaml", in_file)]);
    assert_refused(&file, "annotation", HIDDEN);
    for missing in [
        "replacements: [{path: gone.yaml}]",
        "transformers: [gone.yaml]",
        "patches: [{path: gone.yaml, target: {kind: Deployment}}]",
    ] {
        assert_refused(
            &project(missing, &[]),
            "annotation",
            "`gone.yaml` does not exist: kustomize refuses to build it",
        );
    }
    let remote = project("components: ['https://example.test/x?ref=1']", &[]);
    assert_refused(&remote, "annotation", "is remote and not fetched");
}

#[test]
fn fields_that_are_not_modelled_and_cannot_change_a_probe_cause_a_note() {
    let image = "replacements:\n- source: {kind: Namespace, name: shop}\n  \
                 targets: [{select: {kind: Deployment}, fieldPaths: ['spec.template.spec.containers.[name=web].image', metadata.name]}]";
    let service = "replacements:\n- source: {kind: Namespace, name: shop}\n  targets: [{select: {kind: Service}, fieldPaths: [spec]}]";
    let names = "configurations: [names.yaml]";
    let config = "nameReference:\n- {kind: Issuer, group: cert-manager.io, fieldSpecs: [{kind: Certificate, path: spec/issuerRef/name}]}\n";
    let missing = "patches: [{path: gone.yaml, target: {kind: Service}}]";
    for overlay in [image, service, names, missing] {
        let project = project(overlay, &[("names.yaml", config)]);
        let run = rewrite(&project, "annotation").exits(0);
        run.stderr_contains("note[kustomization-not-modelled]")
            .stderr_contains("1 of 1 workload rewritten.");
    }
}

#[test]
fn a_prediction_that_depends_on_unmodelled_fields_is_assumed() {
    let config = "apiVersion: example.test/v1\nkind: Anything\nmetadata: {name: t}\n";
    let project = project("transformers: [t.yaml]", &[("t.yaml", config)]);
    let run = project.run(&["predict", "--output-format", "json", "."]);
    let report: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
    let handlers = report["workloads"][0]["handlers"].as_array().unwrap();
    assert_eq!(handlers.len(), 2);
    for handler in handlers {
        assert_eq!(handler["certainty"], "assumed");
        let assumptions = handler["assumptions"].to_string();
        assert!(assumptions.contains("not modelled"), "{assumptions}");
        let because = handler["because"].to_string();
        assert!(because.contains("over/kustomization.yaml"), "{because}");
    }
    let run = project.run(&["predict", "--explain", "."]).exits(0);
    assert!(
        run.stdout.contains("`transformers` is not modelled"),
        "{}",
        run.stdout
    );
}

/// The printed pipe rewrites what the overlay builds with the facts of the tree. Without these, nothing proves that the
/// pod is injected.
#[test]
fn the_recommended_build_is_rewritten_with_the_facts_of_the_tree() {
    let Some(kustomize) = crate::support::kustomize() else {
        return;
    };
    let replaced = json(
        r#"{"op": "replace", "path": "/spec/template/metadata", "value": {"annotations": {"a": "b"}}}"#,
    );
    let project = project(&replaced, &[]);
    project.write("base/kustomization.yaml", "resources: [web.yaml]\n");
    let run = rewrite(&project, "annotation").exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    let printed = message
        .split('`')
        .find(|part| part.contains(" | meshprobe"));
    let (build, arguments) = printed.unwrap().split_once(" | meshprobe ").unwrap();
    let mut build = build.split(' ');
    assert_eq!(build.next(), Some("kustomize"));
    let mut kustomize = std::process::Command::new(kustomize);
    let built = kustomize.args(build).current_dir(project.path("")).output();
    let built = built.unwrap();
    assert!(built.status.success(), "{built:?}");
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let piped = project.pipe(&arguments, &built.stdout).exits(0);
    piped.stdout_contains("path: /app-health/web/readyz");
    let alone: Vec<&str> = arguments
        .into_iter()
        .filter(|argument| !["--context", "."].contains(argument))
        .collect();
    let refused = project.pipe(&alone, &built.stdout).exits(1);
    refused.stderr_contains("error[injection-unproven]");
}
