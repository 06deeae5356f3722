//! What users type by habit: names of revisions as paths, options of git, misspelt keys.

use super::revisions::{commit, repository, run};
use super::{changes, report};
use crate::support::manifest::STRICT;
use crate::support::project::Project;

fn two_commits() -> Project {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "strict");
    project
}

#[test]
fn revisions_that_are_given_as_paths_are_named() {
    let project = two_commits();
    for (paths, options) in [
        (&["HEAD~1"][..], "--since HEAD~1`"),
        (&["HEAD~1", "HEAD"], "--since HEAD~1 --until HEAD`"),
        (&["HEAD~1..HEAD"], "--since HEAD~1 --until HEAD`"),
        (&["HEAD~1...HEAD"], "--since HEAD~1 --until HEAD`"),
        (&["HEAD~1..HEAD", "apps"], "--since HEAD~1 --until HEAD`"),
    ] {
        let run = project.run(&[&["diff"], paths].concat()).exits(2);
        let help = format!("help: compare revisions with `meshprobe diff {options}");
        assert!(run.stderr.contains(&help), "{paths:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    // A folder with the name of a revision is a folder.
    project.write("main/x.yaml", "a: b\n");
    project.run(&["diff", "--since", "HEAD", "main"]).exits(0);
}

#[test]
fn a_path_that_does_not_exist_is_not_compared() {
    let project = two_commits();
    for paths in [["nope", "apps"], ["apps", "nope"]] {
        let run = project.run(&["diff", paths[0], paths[1]]).exits(2);
        let error = "error: cannot read `nope`: no such file or directory";
        assert!(run.stderr.starts_with(error), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn a_revision_that_is_the_merge_base_keeps_its_name() {
    let project = two_commits();
    for since in ["HEAD", "HEAD~1", "origin/main"] {
        let compared = report(&project.run(&["diff", "--output-format", "json", "--since", since]));
        let name = compared.pointer("/before/name").unwrap().as_str().unwrap();
        assert!(name.starts_with(&format!("`{since}` (")), "{name}");
    }
    project.git("", &["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    project.write("apps/other.yaml", "");
    commit(&project, "other");
    let compared = report(&run(&project, &["--since", "main"], 0));
    let name = compared.pointer("/before/name").unwrap().as_str().unwrap();
    assert!(
        name.starts_with("the merge base of HEAD and main ("),
        "{name}"
    );
}

#[test]
fn the_staged_files_have_the_option_of_git_too() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    project.git("", &["add", "--all"]);
    let expected = ["regression web readinessProbe: ok -> fails"];
    assert_eq!(changes(&run(&project, &["--cached"], 1)), expected);
}

#[test]
fn a_repository_without_a_remote_suggests_a_revision() {
    let project = repository();
    project.git("", &["remote", "remove", "origin"]);
    project.git("", &["update-ref", "-d", "refs/remotes/origin/main"]);
    let run = project.run(&["diff"]).exits(2);
    assert!(run.stderr.contains("`--since HEAD`"), "{}", run.stderr);
    project.git("", &["checkout", "--quiet", "--detach"]);
    project.run(&["diff"]).exits(2);
    project.run(&["diff", "--since", "HEAD"]).exits(0);
}

#[test]
fn misspelt_keys_have_a_suggestion() {
    let project = repository();
    for (pair, suggestion) in [
        ("mesh-verson=1.30", "did you mean `mesh-version`?"),
        ("mesh_version=1.30", "did you mean `mesh-version`?"),
        ("istio-version=1.30", "did you mean `mesh-version`?"),
        ("mtsl=STRICT", "did you mean `mtls`?"),
        ("mtls=STRIKT", "did you mean `STRICT`?"),
        ("dataplane=ambeint", "did you mean `ambient`?"),
        ("x=1", "`mesh-version`"),
    ] {
        let run = project.run(&["diff", "--to", pair]).exits(2);
        assert!(run.stderr.contains(suggestion), "{pair}: {}", run.stderr);
    }
}
