//! Two paths that were probably meant as two parts of one tree.

use super::changes;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

const JSON: [&str; 3] = ["diff", "--output-format", "json"];

fn tracked() -> Project {
    let project = Project::with(&[
        ("apps/ns.yaml", INJECTED),
        ("apps/web.yaml", NOT_REWRITTEN),
        ("infra/mtls.yaml", STRICT),
        ("copy/ns.yaml", INJECTED),
        ("copy/web.yaml", NOT_REWRITTEN),
    ]);
    std::fs::remove_dir(project.path(".git")).unwrap();
    project.git("", &["init", "--quiet", "--initial-branch", "main"]);
    project.git("", &["add", "--all"]);
    project
}

#[test]
fn two_folders_of_a_repository_without_a_common_probe_are_rejected() {
    let project = tracked();
    for (before, after) in [
        ("apps", "infra"),
        ("infra", "apps"),
        ("apps/web.yaml", "infra/mtls.yaml"),
    ] {
        let run = project.run(&["diff", before, after]).exits(2);
        assert!(
            run.stderr.contains("have no probe in common"),
            "{}",
            run.stderr
        );
        let help = format!("meshprobe diff --since origin/main {before} {after}");
        assert!(run.stderr.contains(&help), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn folders_with_a_common_probe_are_compared() {
    let project = tracked();
    let run = project
        .run(&[&JSON[..], &["apps", "copy"]].concat())
        .exits(0);
    assert_eq!(changes(&run), [""; 0]);
}

#[test]
fn rendered_files_that_git_does_not_track_are_compared() {
    let project = tracked();
    project.write("out/before.yaml", INJECTED);
    project.write(
        "out/after.yaml",
        [INJECTED, NOT_REWRITTEN, STRICT].join("---\n"),
    );
    let run = project
        .run(&[&JSON[..], &["out/before.yaml", "out/after.yaml"]].concat())
        .exits(1);
    assert_eq!(changes(&run), ["added web readinessProbe: none -> fails"]);
}
