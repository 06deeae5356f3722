//! Which files are patches, if links and ignore files are between them and their kustomization.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

/// Returns the files that `-v` reports as patches.
fn patches(project: &Project) -> Vec<String> {
    let run = project.run(&["check", "-v"]).exits(0);
    let shown = run.stderr_without_times();
    let files = shown.lines().filter(|line| line.contains("patch of"));
    files
        .filter_map(|line| line.split(':').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_link_used_as_patch_marks_its_target() {
    let project = Project::with(&[
        ("app/kustomization.yaml", "patches:\n- path: link.yaml\n"),
        ("common/p.yaml", POD),
        ("common/q.yaml", POD),
    ]);
    symlink("../common/p.yaml", project.path("app/link.yaml")).unwrap();
    assert_eq!(patches(&project), ["common/p.yaml"]);
}

#[test]
fn the_parent_of_a_linked_folder_is_the_parent_of_its_target() {
    let project = Project::with(&[
        (
            "app/kustomization.yaml",
            "patches:\n- path: linked/../p.yaml\n- path: real/../q.yaml\n- path: nowhere/../r.yaml\n",
        ),
        ("app/p.yaml", POD),
        ("app/q.yaml", POD),
        ("app/r.yaml", POD),
        ("app/real/x.yaml", POD),
        ("common/below/x.yaml", POD),
        ("common/p.yaml", POD),
    ]);
    symlink("../common/below", project.path("app/linked")).unwrap();
    assert_eq!(
        patches(&project),
        ["app/q.yaml", "app/r.yaml", "common/p.yaml"]
    );
}

#[test]
fn a_linked_kustomization_names_the_files_next_to_the_link() {
    let project = Project::with(&[
        ("common/kustomization.yaml", "patches:\n- path: p.yaml\n"),
        ("common/p.yaml", POD),
        ("app/p.yaml", POD),
        ("app/q.yaml", POD),
    ]);
    symlink(
        "../common/kustomization.yaml",
        project.path("app/kustomization.yaml"),
    )
    .unwrap();
    assert_eq!(patches(&project), ["app/p.yaml", "common/p.yaml"]);
}

#[test]
fn a_hidden_kustomization_marks_its_patches() {
    let project = Project::with(&[
        (".gitignore", "kustomization.yml\n"),
        ("app/kustomization.yml", "patches:\n- path: below/p.yaml\n"),
        ("app/below/p.yaml", POD),
        ("app/below/q.yaml", POD),
    ]);
    assert_eq!(patches(&project), ["app/below/p.yaml"]);
}
