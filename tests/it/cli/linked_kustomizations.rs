//! Kustomizations that are symbolic links are rendered in the folder of the link, as kustomize does.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use crate::support::manifest::{ANNOTATED_WEB as WEB, INJECTED, STRICT, join};
use crate::support::project::Project;

const OPT_OUT: &str = "{op: add, path: /spec/template/metadata/annotations/sidecar.istio.io~1rewriteAppHTTPProbers, value: 'false'}";
const REPLACED: &str = "{op: replace, path: /spec/template/metadata/annotations, value: {c: d}}";

fn base() -> Project {
    Project::with(&[
        ("base/web.yaml", WEB),
        ("base/ns.yaml", &join(&[INJECTED, STRICT])),
        (
            "base/kustomization.yaml",
            "resources: [ns.yaml, web.yaml]\n",
        ),
    ])
}

/// An overlay with a link `kustomization.yaml` to another file of the same folder.
fn linked_in_folder(patch: &str) -> Project {
    let project = base();
    let text = format!(
        "resources: [../base]\npatches:\n- target: {{kind: Deployment}}\n  patch: |-\n    - {patch}\n"
    );
    project.write("over/kustomization.prod.yaml", text);
    symlink(
        "kustomization.prod.yaml",
        project.path("over/kustomization.yaml"),
    )
    .unwrap();
    project
}

/// Two overlays with the same kustomization, which names a patch of its own folder.
fn linked_to_other_folder(patch: &str) -> Project {
    let project = base();
    let overlay =
        "resources: [../../base]\npatches:\n- path: patch.yaml\n  target: {kind: Deployment}\n";
    project.write("overlays/a/kustomization.yaml", overlay);
    let harmless = "- {op: add, path: /metadata/annotations, value: {c: d}}\n";
    project.write("overlays/a/patch.yaml", harmless);
    project.write("overlays/b/patch.yaml", format!("# YAML\n[{patch}]\n"));
    symlink(
        "../a/kustomization.yaml",
        project.path("overlays/b/kustomization.yaml"),
    )
    .unwrap();
    project
}

const CHECK: [&str; 3] = ["check", "--output-format", "concise"];
const REWRITE: [&str; 5] = ["rewrite", "--write", "--mesh-version", "1.28", "."];

#[track_caller]
fn assert_found(project: &Project, paths: &[&str]) {
    let run = project.run(&[&CHECK, paths].concat());
    let shown = run.exits(1).transcript();
    assert!(
        shown.contains("base/web.yaml:13:") && shown.contains("strict-probe-not-rewritten"),
        "{paths:?}\n{shown}"
    );
}

#[track_caller]
fn assert_refused(project: &Project) {
    let run = project.run(&REWRITE);
    let run = run.exits(1);
    let message = &run.stderr;
    assert!(message.contains("error[kustomize-overlay]"), "{message}");
    assert_eq!(project.read("base/web.yaml"), WEB);
}

#[test]
fn an_overlay_whose_kustomization_is_a_link_is_checked() {
    let project = linked_in_folder(OPT_OUT);
    for paths in [
        &["."][..],
        &["over"],
        &["over/kustomization.yaml"],
        &["base", "over/kustomization.yaml"],
        &["over/kustomization.prod.yaml", "."],
    ] {
        assert_found(&project, paths);
    }
}

#[test]
fn a_base_of_a_linked_kustomization_is_not_rewritten() {
    assert_refused(&linked_in_folder(REPLACED));
    assert_refused(&linked_to_other_folder(REPLACED));
}

/// A linked kustomization gives the same overlay as a copy of its target.
#[test]
fn a_linked_kustomization_names_files_in_the_folder_of_the_link() {
    let project = linked_to_other_folder(OPT_OUT);
    for paths in [&["."][..], &["overlays"], &["overlays/b"]] {
        assert_found(&project, paths);
    }
    project.run(&["check", "overlays/a"]).exits(0);
    let linked = project.run(&["predict", "."]).transcript();
    let link = project.path("overlays/b/kustomization.yaml");
    let text = project.read("overlays/a/kustomization.yaml");
    std::fs::remove_file(link).unwrap();
    project.write("overlays/b/kustomization.yaml", text);
    assert_eq!(linked, project.run(&["predict", "."]).transcript());
}

/// The links are not among the paths of the run: an overlay and an object of Flux name their folder.
#[test]
fn a_linked_kustomization_is_read_where_its_folder_is_named() {
    let project = linked_to_other_folder(OPT_OUT);
    project.write("top/kustomization.yaml", "resources: [../overlays/b]\n");
    for paths in [&["top"][..], &["top", "overlays/a"], &["overlays/a", "top"]] {
        assert_found(&project, &[&["--no-context"], paths].concat());
        assert_found(&project, paths);
    }
    project.write("top/kustomization.yaml", "resources: [../overlays/a]\n");
    let found = project.run(&["check", "--no-context", "top", "base"]);
    found.exits(0);
    // The base is also deployed by the link, which is elsewhere in the repository.
    assert_found(&project, &["top", "base"]);
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                metadata: {name: f, namespace: flux-system}\n\
                spec: {sourceRef: {kind: GitRepository, name: x}, path: ./overlays/b}\n";
    project.write("clusters/f.yaml", flux);
    assert_found(&project, &["."]);
}

/// A comment that is unused in one folder may be used in the other one.
#[test]
fn a_text_shared_through_a_linked_kustomization_is_not_fixed() {
    let project = linked_to_other_folder(OPT_OUT);
    let overlay = project.read("overlays/a/kustomization.yaml");
    let commented = format!("# meshprobe: ignore[strict-probe-not-rewritten] why\n{overlay}");
    project.write("overlays/a/kustomization.yaml", &commented);
    project.run(&["check", "--fix", "."]).exits(1);
    assert_eq!(project.read("overlays/a/kustomization.yaml"), commented);
    let link = project.path("overlays/b/kustomization.yaml");
    assert!(link.is_symlink());
    std::fs::remove_file(link).unwrap();
    project.run(&["check", "--fix", "."]);
    assert_eq!(project.read("overlays/a/kustomization.yaml"), overlay);
}

#[test]
fn an_error_in_a_text_shared_through_a_link_is_reported_once() {
    let project = linked_to_other_folder(OPT_OUT);
    project.write("overlays/a/kustomization.yaml", "resources: [\n");
    let shown = project.run(&CHECK).exits(1).transcript();
    assert_eq!(shown.matches("error[syntax-error]").count(), 1, "{shown}");
}

/// kustomize skips a broken link, and tries the next file name.
#[test]
fn a_kustomization_that_is_a_broken_link_is_not_an_overlay() {
    let project = base();
    project.write("over/kustomization.yaml", "resources: [../base]\n");
    std::fs::create_dir(project.path("docs")).unwrap();
    symlink("../missing", project.path("docs/kustomization.yaml")).unwrap();
    let run = project.run(&REWRITE).exits(0);
    let note = "cannot read `docs/kustomization.yaml`: no such file or directory";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let web = project.read("base/web.yaml");
    assert!(web.contains("/app-health/web/readyz"), "{web}");

    let project = linked_in_folder(REPLACED);
    project.write(
        "over/kustomization.yml",
        project.read("over/kustomization.prod.yaml"),
    );
    std::fs::remove_file(project.path("over/kustomization.prod.yaml")).unwrap();
    assert_refused(&project);
}
