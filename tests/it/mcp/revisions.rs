//! `what_if` with revisions of git: objects below the roots, and no others.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::client::{Client, STRICT, WEB};
use crate::support::project::Project;

/// Initializes a repository in a folder, with all its files in one commit.
fn commit_all(project: &Project, folder: &str) {
    project.git(folder, &["init", "--quiet", "--initial-branch=main"]);
    project.git(folder, &["config", "user.name", "n"]);
    project.git(folder, &["config", "user.email", "n@example.org"]);
    project.git(folder, &["add", "--all"]);
    project.git(folder, &["commit", "--quiet", "--message", "all"]);
}

/// Returns a repository in `granted`, in which mutual TLS was not strict at the first commit.
fn repository() -> Project {
    let project = Project::with(&[
        ("granted/apps/web.yaml", WEB),
        (
            "granted/mesh/mtls.yaml",
            &STRICT.replace("STRICT", "PERMISSIVE"),
        ),
    ]);
    commit_all(&project, "granted");
    project.write("granted/mesh/mtls.yaml", STRICT);
    project
}

fn refused(project: &Project, root: &str) -> String {
    let mut client = Client::granting(&project.path(root));
    client.refusal("what_if", json!({"since": "HEAD"}))
}

#[test]
fn edits_that_are_not_committed_are_judged() {
    let project = repository();
    let mut client = Client::granting(&project.path("granted"));
    let answer = client.ask("what_if", json!({"since": "HEAD", "paths": ["apps"]}));
    assert_eq!(answer["summary"]["regressions"], 1);
    let change = &answer["changes"][0];
    assert_eq!(change["at"], "apps/web.yaml:27");
    assert_eq!(
        (&change["before"]["outcome"], &change["after"]["outcome"]),
        (&json!("ok"), &json!("fails"))
    );
    assert_eq!(change["after"]["certainty"], "known");
    let because = change["after"]["because"].as_array().unwrap();
    let lines: Vec<&Value> = because.iter().map(|fact| &fact["at"]).collect();
    assert!(lines.contains(&&json!("mesh/mtls.yaml:8")), "{lines:?}");
    project.git(
        "granted",
        &["commit", "--quiet", "--all", "--message", "strict"],
    );
    let same = client.ask("what_if", json!({"since": "HEAD"}));
    assert_eq!(same["summary"]["regressions"], 0);
    let two = client.ask("what_if", json!({"since": "HEAD", "until": "HEAD~"}));
    assert_eq!(two["summary"]["improvements"], 1);
}

#[test]
fn arguments_that_exclude_each_other_are_rejected() {
    let project = repository();
    let mut client = Client::granting(&project.path("granted"));
    for (arguments, part) in [
        (json!({}), "`from`, `to` or `since` is required"),
        (
            json!({"since": "HEAD", "to": ["mtls=STRICT"]}),
            "cannot be combined",
        ),
        (
            json!({"since": "HEAD", "manifest": WEB}),
            "`manifest` has no revisions",
        ),
        (json!({"since": "nowhere"}), "nowhere"),
        (json!({"since": ""}), "unknown revision"),
        (json!({"since": "--output=/tmp/a"}), "unknown revision"),
        (json!({"since": "HEAD", "until": "-"}), "unknown revision"),
        (
            json!({"since": "HEAD", "paths": ["../apps"]}),
            "outside of the roots",
        ),
    ] {
        let error = client.refusal("what_if", arguments);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_repository_that_is_not_below_the_roots_is_refused() {
    let part = "not completely inside of the directories that may be read";
    // The repository contains more than the root.
    let project = Project::with(&[
        ("repository/granted/web.yaml", WEB),
        ("repository/secret.yaml", STRICT),
    ]);
    commit_all(&project, "repository");
    assert!(refused(&project, "repository/granted").contains(part));
    // A linked working tree, whose objects are elsewhere.
    project.git("repository", &["worktree", "add", "--quiet", "../linked"]);
    assert!(refused(&project, "linked").contains(part));
    let roots = ["linked", "repository"]
        .map(|root| format!("file://{}", project.path(root).display()))
        .to_vec();
    let mut client = Client::with_roots(project.path("").as_path(), &[], Some(roots));
    let path = project.path("linked").display().to_string();
    let answer = client.ask("what_if", json!({"since": "HEAD", "paths": [path]}));
    assert_eq!(answer["summary"]["regressions"], 0);
    // A folder that names the repository of someone else.
    project.write("pointer/web.yaml", WEB);
    let git = project.path("repository/.git");
    project.write("pointer/.git", format!("gitdir: {}\n", git.display()));
    assert!(refused(&project, "pointer").contains(part));
    project.write("link/web.yaml", WEB);
    symlink(&git, project.path("link/.git")).unwrap();
    assert!(refused(&project, "link").contains(part));
}

#[test]
fn objects_of_other_repositories_are_refused() {
    let part = "not completely inside of the directories that may be read";
    let project = repository();
    project.write("secret/web.yaml", WEB);
    commit_all(&project, "secret");
    let objects = project.path("secret/.git/objects");
    for alternate in [
        objects.display().to_string(),
        "../../../secret/.git/objects".to_owned(),
    ] {
        let path = "granted/.git/objects/info/alternates";
        project.write(path, format!("# others\n{alternate}\n"));
        assert!(refused(&project, "granted").contains(part), "{alternate}");
        fs::remove_file(project.path(path)).unwrap();
    }
    let own = project.path("granted/.git/objects");
    symlink(&objects, own.join("ff0")).unwrap();
    assert!(refused(&project, "granted").contains(part));
    fs::remove_file(own.join("ff0")).unwrap();
    let mut client = Client::granting(&project.path("granted"));
    client.ask("what_if", json!({"since": "HEAD"}));
}

#[test]
fn links_of_a_revision_do_not_lead_out_of_the_roots() {
    let project = repository();
    project.write("secret/web.yaml", WEB.replace("shop", "secret"));
    symlink("../secret", project.path("granted/out")).unwrap();
    symlink(
        project.path("secret/web.yaml"),
        project.path("granted/apps/out.yaml"),
    )
    .unwrap();
    project.write(
        "granted/kustomization.yaml",
        "resources: [out/web.yaml, apps/out.yaml, apps/web.yaml]\n",
    );
    project.git("granted", &["add", "--all"]);
    project.git("granted", &["commit", "--quiet", "--message", "links"]);
    let mut client = Client::granting(&project.path("granted"));
    for arguments in [
        json!({"since": "HEAD~", "until": "HEAD"}),
        json!({"since": "HEAD~"}),
        json!({"since": "HEAD", "until": "HEAD~"}),
    ] {
        let answer = client.ask("what_if", arguments);
        assert!(
            !answer["changes"].to_string().contains("secret/"),
            "{answer:#}"
        );
    }
}
