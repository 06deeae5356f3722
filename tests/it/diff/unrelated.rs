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

#[test]
fn two_versions_of_a_workload_are_compared_even_if_no_pair_is_left() {
    let project = tracked();
    let without_probes: Vec<&str> = NOT_REWRITTEN
        .lines()
        .filter(|line| !line.contains("Probe:"))
        .collect();
    project.write("plain/ns.yaml", INJECTED);
    project.write("plain/web.yaml", without_probes.join("\n"));
    let suppressed = NOT_REWRITTEN.replace(
        "    readinessProbe",
        "    # meshprobe: ignore[strict-probe-not-rewritten] known\n    readinessProbe",
    );
    assert_ne!(suppressed, NOT_REWRITTEN);
    let all = [INJECTED, &suppressed, STRICT].join("---\n");
    project.write("suppressed/all.yaml", all);
    project.git("", &["add", "--all"]);
    let removed = ["removed web readinessProbe: ok -> none"];
    for (before, after, expected) in [
        ("apps", "plain", &removed[..]),
        ("plain", "apps", &[]),
        ("apps", "suppressed", &[]),
    ] {
        let run = project
            .run(&[&JSON[..], &[before, after]].concat())
            .exits(0);
        assert_eq!(changes(&run), expected, "{before} {after}");
    }
}
