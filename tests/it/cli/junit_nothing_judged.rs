//! `JUnit` reports of runs that judge nothing.

use super::fixes::WEB;
use crate::support::project::Project;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n";

const JUNIT: [&str; 3] = ["check", "--output-format", "junit"];

#[test]
fn a_run_that_judges_nothing_does_not_pass() {
    let project = Project::with(&[("a.yaml", MAP)]);
    let run = project.run(&JUNIT).exits(0);
    let run = run
        .stdout_contains("<testsuites name=\"meshprobe\" tests=\"1\" failures=\"0\" errors=\"0\">")
        .stdout_contains("<testcase name=\"nothing was judged\" classname=\"meshprobe\">")
        .stdout_contains("<skipped message=\"nothing was judged: no workloads. ")
        .stdout_contains("`a.yaml`");
    assert!(!run.stdout.contains("no findings"), "{}", run.stdout);
    let run = project
        .run(&[&JUNIT[..], &["--require-workloads"]].concat())
        .exits(1);
    run.stdout_contains("<testsuites name=\"meshprobe\" tests=\"1\" failures=\"1\" errors=\"0\">")
        .stdout_contains(
            "<testsuite name=\"meshprobe\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">",
        )
        .stdout_contains("<failure message=\"the files contain no workload that can be judged, but `--require-workloads`")
        .stdout_contains("`a.yaml`");
}

#[test]
fn a_run_that_judges_a_workload_passes() {
    let project = Project::with(&[("a.yaml", MAP), ("web.yaml", WEB)]);
    let arguments = [&JUNIT[..], &["--require-workloads"]].concat();
    let run = project.run(&arguments).exits(0);
    let run = run.stdout_contains("<testcase name=\"no findings\" classname=\"a.yaml\"/>");
    assert!(!run.stdout.contains("nothing was judged"), "{}", run.stdout);
}
