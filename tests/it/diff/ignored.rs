//! Ignore files that a change adds, and bases that are the revision itself.

use std::fs;

use super::changes;
use super::revisions::{commit, repository, run};
use crate::support::manifest::{NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

const JSON: [&str; 3] = ["diff", "--output-format", "json"];

/// Compares the branch `base` with a change in all ways, and returns whether each finds the same changes.
fn compare(project: &Project, wanted: &[String]) {
    project.git("", &["add", "--all", "--force"]);
    commit(project, "change");
    let ways: [&[&str]; 3] = [
        &["--since", "base", "--until", "HEAD"],
        &["--since", "base"],
        &["--staged"],
    ];
    for options in ways {
        if options == ["--staged"] {
            project.git("", &["reset", "--quiet", "--soft", "base"]);
        }
        let found = project.run(&[&JSON[..], options].concat()).exits(1);
        assert_eq!(changes(&found), wanted, "{options:?}");
    }
}

#[test]
fn an_ignore_file_does_not_hide_a_regression() {
    let broken = || {
        let project = repository();
        project.git("", &["branch", "base"]);
        project.write("infra/mtls.yaml", STRICT);
        project
    };
    let project = broken();
    project.git("", &["add", "--all"]);
    let wanted = changes(&run(&project, &["--staged"], 1));
    assert!(!wanted.is_empty());
    for (file, line) in [
        (".gitignore", "infra/"),
        (".gitignore", "*"),
        (".ignore", "apps/"),
        ("infra/.ignore", "*"),
        ("apps/.gitignore", "*.yaml"),
    ] {
        let project = broken();
        project.write(file, format!("{line}\n"));
        compare(&project, &wanted);
    }
}

#[test]
fn an_ignore_file_does_not_hide_a_new_workload() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "strict");
    project.git("", &["branch", "base"]);
    project.write(
        "apps/new.yaml",
        NOT_REWRITTEN.replace("name: web", "name: new"),
    );
    project.git("", &["add", "--all"]);
    let wanted = changes(&run(&project, &["--staged"], 1));
    assert!(!wanted.is_empty());
    project.write("apps/.gitignore", "new.yaml\n");
    compare(&project, &wanted);
}

#[test]
fn untracked_files_that_are_ignored_are_not_compared() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    project.write(".gitignore", "build/\n");
    commit(&project, "strict");
    project.write(
        "build/new.yaml",
        NOT_REWRITTEN.replace("name: web", "name: new"),
    );
    assert_eq!(changes(&run(&project, &["--since", "HEAD"], 0)), [""; 0]);
    project.write(".gitignore", "");
    assert!(!changes(&run(&project, &["--since", "HEAD"], 1)).is_empty());
}

/// A clone of one branch does not contain the base of that branch.
#[test]
fn a_revision_is_not_compared_with_itself_silently() {
    let origin = repository();
    origin.git("", &["checkout", "--quiet", "-b", "feature"]);
    origin.write("infra/mtls.yaml", STRICT);
    commit(&origin, "strict");
    let source = format!("file://{}", origin.path("").display());
    for options in [&[][..], &["--depth=1"], &["--branch=main"]] {
        let place = Project::new();
        let clone = ["clone", "--quiet", "--single-branch", "--branch=feature"];
        place.git("", &[&clone[..], options, &[&source, "clone"]].concat());
        let in_clone =
            |arguments: &[&str]| place.run_in("clone", &[&["diff"], arguments].concat(), "");
        let found = in_clone(&[]).exits(2);
        assert!(
            found.stderr.contains("nothing is compared"),
            "{}",
            found.stderr
        );
        assert!(found.stderr.contains("--since"), "{}", found.stderr);
        in_clone(&["--since", "HEAD"]).exits(0);
        // A difference is compared, also of a file that git does not track.
        let name = "clone/apps/new.yaml";
        place.write(name, NOT_REWRITTEN.replace("name: web", "name: new"));
        in_clone(&[]);
        assert!(!in_clone(&[]).stderr.contains("nothing is compared"));
        fs::remove_file(place.path(name)).unwrap();
        // CI systems check out a commit.
        place.git("clone", &["checkout", "--quiet", "--detach"]);
        in_clone(&[]).exits(2);
    }
}
