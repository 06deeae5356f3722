//! `rewrite` does not edit the bases of overlays that git tracks and an ignore file hides.

use crate::support::manifest::{ANNOTATED_WEB, INJECTED};
use crate::support::project::Project;

const REWRITE: [&str; 5] = ["rewrite", "--write", "--mesh-version", "1.28", "."];

const PATCH: &str = "patches:\n- target: {kind: Deployment}\n  patch: '- {op: remove, path: /spec/template/metadata/annotations}'\n";

/// A base, and a folder `hidden` with the given files, which git tracks and `.gitignore` hides.
fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("base/web.yaml", ANNOTATED_WEB),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    for (path, text) in files {
        project.write(&format!("hidden/{path}"), text);
    }
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project.write(".gitignore", "hidden/\n");
    project
}

#[track_caller]
fn assert_refused(project: &Project, overlay: &str) {
    let run = project.run(&REWRITE).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "error[kustomize-overlay]",
        &format!(
            "Deployment/web is not rewritten: the effect of `{overlay}` on it is not known: an ignore file hides it"
        ),
        &format!("help: read it with `--no-ignore`, or leave it out with `--exclude {overlay}`"),
    ] {
        assert!(message.contains(part), "{part}\n{message}");
    }
    assert_eq!(project.read("base/web.yaml"), ANNOTATED_WEB);
}

#[track_caller]
fn assert_rewritten(project: &Project, arguments: &[&str]) {
    project.run(&[&REWRITE, arguments].concat()).exits(0);
    assert_ne!(project.read("base/web.yaml"), ANNOTATED_WEB);
}

#[test]
fn a_base_of_a_hidden_kustomization_is_not_rewritten() {
    let overlay = format!("resources: [../base]\n{PATCH}");
    let broken = format!("resources: [../base\n{PATCH}");
    for text in [&overlay, &broken] {
        let project = project(&[("kustomization.yaml", text)]);
        assert_refused(&project, "hidden/kustomization.yaml");
        assert_rewritten(&project, &["--exclude", "hidden/"]);
    }
    // If the overlay is read, it prevents the rewrite by its changes.
    let project = project(&[("kustomization.yaml", &overlay)]);
    let run = project.run(&[&REWRITE[..], &["--no-ignore"]].concat());
    run.exits(1).stderr_contains("error[kustomize-overlay]");
    assert_eq!(project.read("base/web.yaml"), ANNOTATED_WEB);
}

#[test]
fn a_base_of_nested_hidden_kustomizations_is_not_rewritten() {
    let project = project(&[
        (
            "a/kustomization.yaml",
            &format!("resources: [../b]\n{PATCH}"),
        ),
        ("b/kustomization.yaml", "resources: [../../base]\n"),
    ]);
    assert_refused(&project, "hidden/b/kustomization.yaml");
}

#[test]
fn a_file_that_a_hidden_generator_copies_is_not_rewritten() {
    let generator = "configMapGenerator: [{name: c, files: [k=../base/web.yaml]}]\n";
    assert_refused(
        &project(&[("kustomization.yaml", generator)]),
        "hidden/kustomization.yaml",
    );
}

#[test]
fn a_folder_that_a_hidden_object_deploys_with_changes_is_not_rewritten() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec:\n  path: ./base\n";
    let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\nspec:\n  \
                destination: {namespace: shop}\n  source:\n    repoURL: x\n    path: base\n";
    let changed = [
        format!("{flux}  patches: [{{patch: x}}]\n"),
        format!("{argo}    kustomize: {{patches: [{{patch: x}}]}}\n"),
    ];
    for text in &changed {
        assert_refused(&project(&[("apps.yaml", text)]), "hidden/apps.yaml");
    }
    for text in [flux, argo] {
        assert_rewritten(&project(&[("apps.yaml", text)]), &[]);
    }
}

#[test]
fn hidden_files_do_not_prevent_the_rewrite_of_unrelated_files() {
    let other = "resources: [web.yaml]\n";
    for files in [
        &[("kustomization.yaml", other), ("web.yaml", ANNOTATED_WEB)][..],
        &[("web.yaml", ANNOTATED_WEB)],
    ] {
        assert_rewritten(&project(files), &[]);
    }
    let untracked = project(&[]);
    untracked.write(
        "hidden/kustomization.yaml",
        format!("resources: [../base]\n{PATCH}"),
    );
    assert_rewritten(&untracked, &[]);
}

#[test]
fn an_index_that_cannot_be_read_is_reported() {
    let project = project(&[("kustomization.yaml", "resources: [../base]\n")]);
    project.write(".git/index", "DIRC\0\0\0\u{2}\0\0\0\u{9}");
    let run = project.run(&REWRITE).exits(0);
    run.stderr_contains("note[tracked-file-hidden]")
        .stderr_contains("git's index is damaged");
}
