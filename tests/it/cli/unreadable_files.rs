//! Files that cannot be read never make a run plain green.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::support::manifest::ANNOTATED_WEB;
use crate::support::project::Project;

/// Returns a tree with a workload and a link without a target.
fn project() -> Project {
    let project = Project::with(&[("apps/web.yaml", ANNOTATED_WEB)]);
    symlink("nowhere.yaml", project.path("apps/lost.yaml")).unwrap();
    project
}

#[test]
fn the_summary_names_a_file_of_a_folder() {
    let project = project();
    let counted = "not judged: 1 unreadable file";
    let line = "Not judged: apps/lost.yaml:1: cannot read `apps/lost.yaml`: no such file or directory: \
                correct the link, or leave it out with `--exclude`";
    for options in [&[][..], &["--min-severity", "warning"]] {
        let arguments = [
            &[
                "check",
                "--assume",
                "injection=none",
                "--output-format",
                "concise",
                "apps",
            ][..],
            options,
        ]
        .concat();
        let run = project.run(&arguments).exits(0);
        run.stdout_contains(counted).stdout_contains(line);
    }
    project
        .run(&["predict", "apps"])
        .exits(0)
        .stderr_contains(line);
    let run = project
        .run(&["check", "--output-format", "json", "apps"])
        .exits(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["not_judged"][0]["reason"], "unreadable-file");
    // A baseline suppresses the note, and not the count.
    project
        .run(&["check", "--write-baseline", "known.json", "apps"])
        .exits(0);
    let run = project
        .run(&["check", "--baseline", "known.json", "apps"])
        .exits(0);
    run.stdout_contains(counted);
}

#[test]
fn a_readable_or_excluded_file_is_not_named() {
    let project = project();
    let excluded = project.run(&["check", "--exclude", "apps/lost.yaml", "apps"]);
    assert!(
        !excluded.stdout.contains("unreadable"),
        "{}",
        excluded.stdout
    );
    project.write("apps/nowhere.yaml", "a: 1\n");
    let run = project.run(&["check", "apps"]).exits(0);
    assert!(!run.stdout.contains("unreadable"), "{}", run.stdout);
}

#[test]
fn a_named_file_fails_the_run_and_is_not_counted() {
    let run = project().run(&["check", "apps/lost.yaml"]).exits(2);
    assert!(!run.stdout.contains("Not judged"), "{}", run.stdout);
}
