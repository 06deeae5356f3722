//! Folders and files that ignore files hide from a run that is not a gate.

use super::fixes::WEB;
use crate::support::project::Project;

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n\
    spec: {source: {repoURL: https://git.example/shop.git, path: apps/web}}\n";

/// Returns a repository with a tracked manifest in `apps/web` and a remote, and an Application that deploys it.
fn project(ignored: &str) -> Project {
    let project = Project::with(&[("apps/web/web.yaml", WEB), ("argo/web.yaml", APPLICATION)]);
    project.git("", &["init", "--quiet"]);
    project.git(
        "",
        &["remote", "add", "origin", "https://git.example/shop.git"],
    );
    project.git("", &["add", "--all"]);
    project.write(".gitignore", ignored);
    project
}

#[test]
fn a_deployed_folder_that_is_ignored_is_named_with_the_line() {
    let run = project("*.log\napps\n").run(&["check", "--output-format", "concise"]);
    run.stdout_contains("`apps/web`, which is not read because of line 2 of `.gitignore`");
    let run = project("*.log\n").run(&["check", "--output-format", "concise"]);
    assert!(!run.stdout.contains("not read because"), "{}", run.stdout);
    // A folder that does not exist is a wrong path.
    let project = project("*.log\n");
    std::fs::remove_dir_all(project.path("apps")).unwrap();
    let run = project.run(&["check", "--output-format", "concise"]);
    run.stdout_contains("`apps/web`, which is not a folder of this repository");
}

#[test]
fn a_run_that_is_not_a_gate_notes_hidden_tracked_manifests() {
    let project = project("apps\n");
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(0);
    let run = run.stdout_contains(".gitignore:1:1: note[tracked-file-hidden]");
    run.stdout_contains("Not checked because of an ignore file: 1 tracked manifest.");
    // A file that git does not track is expected to be hidden.
    project.git("", &["rm", "--cached", "--quiet", "apps/web/web.yaml"]);
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(0);
    assert!(!run.stdout.contains("tracked"), "{}", run.stdout);
}
