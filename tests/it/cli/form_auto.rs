//! The default form depends on the release of the mesh, and a release that no oracle has compared is reported.

use crate::support::Run;
use crate::support::manifest::{INJECTED, STRICT, join};
use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  containers:\n  \
                   - name: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n";

fn istiod(version: &str) -> String {
    format!(
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {{name: mesh, namespace: istio-system}}\n\
         spec: {{tag: {version}}}\n"
    )
}

fn project(objects: &[&str]) -> Project {
    Project::with(&[(
        "tree.yaml",
        &join(&[&[INJECTED, STRICT, POD], objects].concat()),
    )])
}

fn rewrite(project: &Project, options: &[&str]) -> Run {
    project.run(&[&["rewrite", "--write"], options, &["tree.yaml"]].concat())
}

#[track_caller]
fn has_annotation(project: &Project) {
    let text = project.read("tree.yaml");
    assert!(text.contains("proxyMetadata"), "{text}");
    assert!(!text.contains("name: istio-proxy"), "{text}");
}

#[track_caller]
fn has_container(project: &Project) {
    let text = project.read("tree.yaml");
    assert!(text.contains("name: istio-proxy"), "{text}");
    assert!(text.contains("rewriteAppHTTPProbers"), "{text}");
    assert!(!text.contains("proxyMetadata"), "{text}");
}

#[test]
fn a_known_release_gets_the_annotation() {
    let given = project(&[]);
    let run = rewrite(&given, &["--mesh-version", "1.28"]).exits(0);
    assert!(!run.stderr.contains("form-chosen"), "{}", run.stderr);
    has_annotation(&given);

    let installed = project(&[&istiod("1.28.1")]);
    rewrite(&installed, &[]).exits(0);
    has_annotation(&installed);
}

#[test]
fn an_unknown_release_gets_the_container_and_a_note() {
    let project = project(&[]);
    rewrite(&project, &[])
        .exits(0)
        .stderr_contains("note[form-chosen]: Pod/web is rewritten in the form `container`, because the tree does not state");
    has_container(&project);
    // The pod keeps its form when the release becomes known.
    let after = project.read("tree.yaml");
    let again = rewrite(&project, &["--mesh-version", "1.28"]).exits(0);
    assert!(!again.stderr.contains("form-"), "{}", again.stderr);
    assert_eq!(project.read("tree.yaml"), after);
}

#[test]
fn a_custom_template_gets_the_container() {
    let mesh = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: mesh, namespace: istio-system}\n\
                spec:\n  tag: 1.28.1\n  values:\n    sidecarInjectorWebhook:\n      defaultTemplates: [own]\n      \
                templates: {own: \"spec: {}\"}\n";
    let project = project(&[mesh]);
    rewrite(&project, &[])
        .exits(0)
        .stderr_contains("because its custom injection template may not pass");
    has_container(&project);
    let fixed = self::project(&[mesh]);
    rewrite(&fixed, &["--form", "annotation"])
        .exits(1)
        .stderr_contains("error[custom-template]");
}

#[test]
fn a_newer_release_gets_the_container_and_is_reported() {
    let newer = project(&[&istiod("1.99.0")]);
    rewrite(&newer, &[])
        .exits(0)
        .stderr_contains("because Istio 1.99 is newer than every release");
    has_container(&newer);
    for command in ["check", "predict"] {
        let run = newer.run(&[command, "tree.yaml"]);
        let text = format!("{}{}", run.stdout, run.stderr);
        assert!(
            text.contains("note: Istio 1.99 is newer than 1.31"),
            "{text}"
        );
    }
    let known = project(&[&istiod("1.31.0")]);
    let run = known.run(&["check", "tree.yaml"]);
    assert!(!run.stdout.contains("is newer than"), "{}", run.stdout);
}

#[test]
fn the_annotation_form_is_refused_for_a_newer_release_unless_it_is_allowed() {
    let refused = project(&[]);
    let before = refused.read("tree.yaml");
    let options = ["--mesh-version", "1.99", "--form", "annotation"];
    rewrite(&refused, &options)
        .exits(1)
        .stderr_contains("error[release-not-proven]")
        .stderr_contains("use `--form container`");
    assert_eq!(refused.read("tree.yaml"), before);
    rewrite(
        &refused,
        &[&options[..], &["--allow", "release-not-proven"]].concat(),
    )
    .exits(0);
    has_annotation(&refused);
    // A pod in the annotation form is not extended for a newer release.
    let probe = "    readinessProbe: {httpGet: {path: /, port: 8080}}\n";
    let text = refused.read("tree.yaml");
    let (start, end) = text.split_once("    livenessProbe").unwrap();
    refused.write("tree.yaml", format!("{start}{probe}    livenessProbe{end}"));
    rewrite(&refused, &["--mesh-version", "1.99"])
        .exits(1)
        .stderr_contains("error[release-not-proven]");
}

/// The template `spire` of Istio's guide is not one of Istio's own, and its text is not in the tree.
#[test]
fn an_unknown_template_gets_the_container_if_it_is_allowed() {
    let spire = POD.replace(
        "  namespace: shop\n",
        "  namespace: shop\n  annotations: {inject.istio.io/templates: 'sidecar,spire'}\n",
    );
    let project = Project::with(&[("tree.yaml", &join(&[INJECTED, STRICT, &spire]))]);
    let before = project.read("tree.yaml");
    let release = ["--mesh-version", "1.28"];
    let refused = rewrite(&project, &release).exits(1);
    refused
        .stderr_contains("error[unknown-template]")
        .stderr_contains("if the mesh has this template, use `--allow unknown-template`");
    let allowed = [&release[..], &["--allow", "unknown-template"]].concat();
    rewrite(
        &project,
        &[&allowed[..], &["--form", "annotation"]].concat(),
    )
    .exits(1)
    .stderr_contains("use `--form container --allow unknown-template`");
    assert_eq!(project.read("tree.yaml"), before);
    rewrite(&project, &allowed)
        .exits(0)
        .stderr_contains("note[form-chosen]")
        .stderr_contains("because its injection template is not defined");
    has_container(&project);
}

#[test]
fn the_long_version_names_the_proven_releases() {
    let project = Project::new();
    let short = project.run(&["--version"]).exits(0).stdout;
    assert_eq!(
        short,
        concat!("meshprobe ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let long = project.run(&["--version", "--verbose"]).exits(0).stdout;
    assert!(long.starts_with(&short), "{long}");
    assert_eq!(project.run(&["-Vv"]).exits(0).stdout, long);
    assert!(long.contains("\n  Istio: 1.31 ("), "{long}");
    assert!(long.contains("\n  Linkerd: 2.20 ("), "{long}");
    assert!(long.contains("\n  Consul: none\n"), "{long}");
    project
        .run(&["--verbose"])
        .exits(2)
        .stderr_contains("--version");
}

#[test]
fn equal_notes_about_several_workloads_are_one() {
    let other = POD.replace("name: web\n  namespace", "name: other\n  namespace");
    let project = project(&[&other]);
    let run = rewrite(&project, &[]).exits(0);
    assert_eq!(
        run.stderr.matches("form-chosen]").count(),
        1,
        "{}",
        run.stderr
    );
    let run =
        run.stderr_contains("note[form-chosen]: 2 workloads are rewritten in the form `container`");
    assert!(run.stderr.contains("the first of them"), "{}", run.stderr);
}

#[test]
fn a_fork_gets_the_container() {
    let plane = "apiVersion: maistra.io/v2\nkind: ServiceMeshControlPlane\nmetadata: {name: basic, namespace: mesh}\n\
                 spec: {version: v2.5}\n";
    let roll = "apiVersion: maistra.io/v1\nkind: ServiceMeshMemberRoll\nmetadata: {name: default, namespace: mesh}\n\
                spec: {members: [shop]}\n";
    let pod = POD.replace(
        "spec:",
        "  annotations: {sidecar.istio.io/inject: \"true\"}\nspec:",
    );
    let project = Project::with(&[("tree.yaml", &join(&[STRICT, &pod, plane, roll]))]);
    rewrite(&project, &[])
        .exits(0)
        .stderr_contains("because the injection template of OpenShift");
    has_container(&project);
}
