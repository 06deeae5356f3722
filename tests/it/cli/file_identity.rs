//! A file with several names is read once, and its name determines its location.

#![cfg(unix)]

use std::os::unix::fs::symlink;

use super::fixes::{NAMESPACE, opted_out};
use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

/// Returns the files that `-v` lists.
#[track_caller]
fn read(project: &Project, directory: &str, arguments: &[&str]) -> String {
    let arguments = [&["check", "-v"], arguments].concat();
    let run = project.run_in(directory, &arguments, "").exits(0);
    run.stderr_without_times()
}

#[test]
fn a_file_with_two_names_is_read_once_under_the_first() {
    let project = Project::with(&[("x/a.yaml", POD)]);
    symlink("a.yaml", project.path("x/link.yaml")).unwrap();
    let absolute = project.path("x/a.yaml");
    let absolute = absolute.to_str().unwrap();
    for (arguments, shown) in [
        (&["../x/a.yaml", "a.yaml", absolute][..], "a.yaml"),
        (&["../x/./a.yaml", "link.yaml"], "a.yaml"),
        (&["link.yaml", "a.yaml"], "link.yaml"),
        (&["a.yaml", "link.yaml"], "a.yaml"),
        (&["."], "a.yaml"),
        (&[".", "link.yaml"], "a.yaml"),
        (&["link.yaml", "."], "link.yaml"),
        (&["."], "a.yaml"),
        (&["--no-ignore", "."], "a.yaml"),
    ] {
        let listed = read(&project, "x", arguments);
        assert_eq!(listed, format!("{shown}: Kubernetes\n"), "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_a_target_by_one_name_is_not_context_by_another() {
    let (namespace, strict) = NAMESPACE.split_once("---\n").unwrap();
    let project = Project::with(&[
        ("x/ns.yaml", namespace),
        ("x/strict.yaml", strict),
        ("x/off.yaml", &opted_out()),
    ]);
    let files = ["../x/strict.yaml", "off.yaml", "ns.yaml"];
    let alone = [&["check"], &files[..]].concat();
    let beside = [&alone[..], &["--context", "."]].concat();
    let alone = project
        .run_in("x", &alone, "")
        .exits(1)
        .stdout_contains("in 1 of 3 files");
    let beside = project.run_in("x", &beside, "").exits(1);
    assert_eq!(beside.transcript(), alone.transcript());
    project
        .run_in(
            "x",
            &[
                "check",
                "--fix",
                "off.yaml",
                "../x/off.yaml",
                "ns.yaml",
                "strict.yaml",
            ],
            "",
        )
        .exits(0)
        .stdout_contains("Fixed 1 finding.");
}

#[test]
fn links_to_files_are_followed_and_other_links_are_reported() {
    let broken = "apiVersion: v1\nkind: Pod\nx: [\n";
    let project = Project::with(&[("tree/a.yaml", POD), ("beyond/b.yaml", broken)]);
    symlink("../beyond/b.yaml", project.path("tree/link.yaml")).unwrap();
    symlink("../beyond", project.path("tree/folder.yaml")).unwrap();
    symlink("nowhere", project.path("tree/lost.yaml")).unwrap();
    for option in ["--verbose", "--no-ignore"] {
        project
            .run(&["check", "tree", option])
            .exits(1)
            .stdout_contains("tree/link.yaml:3:4")
            .stdout_contains(
                "note[unreadable-file]: cannot read `tree/lost.yaml`: no such file or directory",
            )
            .stdout_contains("in 2 files");
    }
}

#[test]
fn standard_input_is_located_by_its_given_name() {
    let project = Project::with(&[
        (
            "overlay/kustomization.yaml",
            "resources: []\npatches: [{path: patch.yaml}]\n",
        ),
        ("chart/Chart.yaml", "name: x\n"),
    ]);
    for (name, message) in [
        (
            "overlay/patch.yaml",
            "overlay/patch.yaml: patch of a kustomization\n",
        ),
        ("overlay/other.yaml", "overlay/other.yaml: Kubernetes\n"),
        (
            "./overlay/../overlay/patch.yaml",
            "overlay/patch.yaml: patch of a kustomization\n",
        ),
    ] {
        let run = project.pipe(&["check", "-v", "--stdin-filename", name, "-"], POD);
        run.exits(0).stderr_contains(message);
    }
    let patch = format!("{NAMESPACE}---\n{}", opted_out());
    let arguments = ["rewrite", "--stdin-filename", "overlay/patch.yaml", "-"];
    assert_eq!(project.pipe(&arguments, &patch).exits(0).stdout, patch);
}

#[test]
fn a_template_of_a_chart_is_none_less_for_parsing() {
    let quoted =
        format!("{NAMESPACE}---\n{}", opted_out()).replace("/healthz", "'{{ .Values.path }}'");
    let project = Project::with(&[
        ("chart/Chart.yaml", "apiVersion: v2\nname: x\n"),
        ("chart/templates/deep/web.yaml", &quoted),
        ("chart/templates/plain.yaml", POD),
        ("templates/web.yaml", &quoted),
    ]);
    let run = project.run(&["check", "chart", "--output-format", "concise"]);
    insta::assert_snapshot!(run.exits(0).stdout, @r"
    chart/templates/deep/web.yaml:34:30: note[unrendered-template] the chart in `chart` is not rendered: its templates were not checked
    Found 1 note in 1 of 3 files (0 workloads, 0 handlers; not judged: 1 chart).
    Not judged: chart/Chart.yaml:1: the chart in `chart` is not rendered: `meshprobe check --helm auto chart`
    None of the files that were read contains a workload: `chart/Chart.yaml`, `chart/templates/deep/web.yaml`, `chart/templates/plain.yaml`.
    The commands above would judge the workloads.
    ");
    let report = project.run(&["check", "chart", "--output-format", "json"]);
    report.exits(0).stdout_contains("\"template\": 1");
    project
        .run(&["rewrite", "--diff", "chart"])
        .exits(0)
        .stderr_contains("Nothing to rewrite");
    // Without a chart around it, the same text is a manifest with an unknown value.
    project
        .run(&["check", "templates"])
        .exits(1)
        .stdout_contains("error[strict-probe-not-rewritten]");
}
