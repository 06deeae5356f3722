//! Submodules in a comparison with the working tree.

use super::changes;
use super::revisions::{commit, repository, run};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

const ALLOW: [&str; 2] = ["-c", "protocol.file.allow=always"];

fn init(project: &Project, folder: &str) {
    std::fs::create_dir_all(project.path(folder)).unwrap();
    project.git(folder, &["init", "--quiet", "--initial-branch", "main"]);
    project.git(folder, &["config", "user.name", "n"]);
    project.git(folder, &["config", "user.email", "n@example.org"]);
}

/// Commits a file in a repository of its own, and returns its folder.
fn stored(project: &Project, text: &str) -> String {
    init(project, "store");
    project.write("store/web.yaml", text);
    project.git("store", &["add", "--all"]);
    project.git("store", &["commit", "--quiet", "--message", "m"]);
    project.path("store").to_string_lossy().into_owned()
}

fn add_submodule(project: &Project, url: &str, name: &str) {
    let add = ["submodule", "--quiet", "add", url, name];
    project.git("repo", &[&ALLOW[..], &add].concat());
}

fn commit_all(project: &Project) {
    project.git("repo", &["add", "--all"]);
    project.git("repo", &["commit", "--quiet", "--message", "m"]);
}

/// Creates a repository with a namespace, a policy, and optionally a folder `deploy`, and marks the commit as `origin/main`.
fn superproject(deploy: Option<&str>) -> Project {
    let project = Project::new();
    std::fs::remove_dir(project.path(".git")).unwrap();
    init(&project, "repo");
    project.write("repo/facts.yaml", join(&[INJECTED, STRICT]));
    if let Some(text) = deploy {
        project.write("repo/deploy/web.yaml", text);
    }
    commit_all(&project);
    mark_base(&project);
    project
}

fn mark_base(project: &Project) {
    let update = ["update-ref", "refs/remotes/origin/main", "HEAD"];
    project.git("repo", &update);
}

/// Compares the base with the working tree and with the commit, which must agree.
#[track_caller]
fn compare(project: &Project) -> Vec<String> {
    let run = |options: &[&str]| {
        let all = ["diff", "--output-format", "json", "--since", "origin/main"];
        let run = project.run_in("repo", &[&all[..], options].concat(), "");
        (changes(&run), run.stderr)
    };
    let (found, errors) = run(&[]);
    assert_eq!(found, run(&["--until", "HEAD"]).0, "{errors}");
    found
}

fn rewritten() -> String {
    NOT_REWRITTEN.replace("'false'", "'true'")
}

const REGRESSION: [&str; 1] = ["regression web readinessProbe: ok -> fails"];

#[test]
fn a_folder_that_becomes_a_submodule_is_compared() {
    for (text, expected) in [(NOT_REWRITTEN, &REGRESSION[..]), (&rewritten(), &[])] {
        let project = superproject(Some(&rewritten()));
        let url = stored(&project, text);
        project.git("repo", &["rm", "-r", "--quiet", "deploy"]);
        add_submodule(&project, &url, "deploy");
        commit_all(&project);
        assert_eq!(compare(&project), expected);
    }
}

#[test]
fn a_submodule_that_becomes_a_folder_is_compared() {
    let project = superproject(None);
    let url = stored(&project, NOT_REWRITTEN);
    add_submodule(&project, &url, "deploy");
    commit_all(&project);
    mark_base(&project);
    project.git("repo", &["rm", "--quiet", "deploy"]);
    project.write("repo/deploy/web.yaml", NOT_REWRITTEN);
    commit_all(&project);
    assert!(compare(&project).is_empty());
}

#[test]
fn a_new_submodule_is_compared_and_a_new_commit_of_one_is_not() {
    let project = superproject(None);
    let url = stored(&project, NOT_REWRITTEN);
    add_submodule(&project, &url, "deploy");
    commit_all(&project);
    assert_eq!(compare(&project).len(), 1);
    mark_base(&project);
    stored(&project, &rewritten());
    project.git("repo/deploy", &[&ALLOW[..], &["pull", "--quiet"]].concat());
    commit_all(&project);
    assert!(compare(&project).is_empty());
    let run = project.run_in("repo", &["diff", "--since", "origin/main"], "");
    run.stderr_contains("submodule `deploy` is not compared");
}

#[test]
fn a_submodule_is_not_compared_with_its_own_history() {
    let project = superproject(None);
    let url = stored(&project, NOT_REWRITTEN);
    add_submodule(&project, &url, "deploy");
    commit_all(&project);
    for (folder, path) in [
        ("repo", &["deploy"][..]),
        ("repo", &["deploy/web.yaml"]),
        ("repo/deploy", &[]),
        ("repo/deploy", &["--until", "HEAD"]),
    ] {
        let arguments = [&["diff", "--since", "origin/main"][..], path].concat();
        let run = project.run_in(folder, &arguments, "").exits(2);
        run.stderr_contains("is a submodule, whose revisions are not those of the repository");
    }
    // Another repository below this one is not a submodule.
    project.git("repo", &["clone", "--quiet", &url, "other"]);
    project
        .run_in("repo/other", &["diff", "--since", "HEAD"], "")
        .exits(0);
}

#[test]
fn a_file_that_is_not_read_does_not_hide_that_nothing_is_compared() {
    let project = repository();
    project.write("README", "a\n");
    run(&project, &[], 2).stderr_contains("nothing is compared");
    project.write("NOTES.md", "a\n");
    run(&project, &[], 2).stderr_contains("nothing is compared");
    // A manifest without an effect is compared.
    project.write("apps/web.yaml", format!("{NOT_REWRITTEN}# A comment.\n"));
    run(&project, &[], 0);
    commit(&project, "one");
}
