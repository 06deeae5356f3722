//! The same file has the same findings, whatever paths are given and whatever the working directory is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{findings, fixture};

/// The clusters of the tree, each with the kustomization of its workloads.
pub(super) const CLUSTERS: [&str; 3] = ["prod-eu", "prod-us", "staging"];

/// A finding: rule, file relative to the root of the tree, position and object.
type Fact = (String, String, u64, u64, String);

/// Returns a copy of the tree that is the root of a repository.
pub(super) fn platform() -> Project {
    let project = Project::new();
    copy(&fixture("platform"), &project.path(""));
    project
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}

/// Checks paths in a directory, both relative to the root of the tree.
fn check(project: &Project, directory: &str, paths: &[&str]) -> Vec<Value> {
    let up = "../".repeat(Path::new(directory).components().count());
    let paths: Vec<String> = paths.iter().map(|path| format!("{up}{path}")).collect();
    let mut arguments = vec!["check", "--fail-on", "never", "--output-format", "json"];
    arguments.extend(paths.iter().map(String::as_str));
    findings(&project.run_in(directory, &arguments, "").exits(0))
}

fn facts(directory: &str, findings: &[Value]) -> BTreeSet<Fact> {
    let text = |finding: &Value, pointer: &str| {
        let text = finding.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let number =
        |finding: &Value, pointer: &str| finding.pointer(pointer).and_then(Value::as_u64).unwrap();
    let fact = |finding: &Value| {
        let path = text(finding, "/path");
        (
            text(finding, "/rule"),
            below_root(directory, &path),
            number(finding, "/line"),
            number(finding, "/column"),
            text(finding, "/object/name"),
        )
    };
    findings.iter().map(fact).collect()
}

/// Returns a displayed path relative to the root of the tree.
fn below_root(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop().unwrap()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn in_path(all: &BTreeSet<Fact>, path: &str) -> BTreeSet<Fact> {
    let folder = format!("{path}/");
    let is_in = |fact: &&Fact| fact.1 == path || fact.1.starts_with(&folder);
    all.iter().filter(is_in).cloned().collect()
}

/// Lists the files below a folder that contain what a cluster runs, and the folders that contain them.
fn workload_paths(project: &Project, top: &str) -> Vec<String> {
    let mut found = vec![top.to_owned()];
    for entry in fs::read_dir(project.path(top)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{top}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            found.extend(workload_paths(project, &path));
        } else if !path.ends_with("kustomization.yaml") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_whole_tree_has_all_faults() {
    let project = platform();
    let whole = check(&project, "", &["."]);
    let lines: Vec<String> = facts("", &whole)
        .into_iter()
        .map(|(rule, path, line, column, object)| format!("{path}:{line}:{column} {rule} {object}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(facts("", &check(&project, "", &[])), facts("", &whole));
}

#[test]
fn a_path_has_the_findings_of_the_whole_tree_in_it() {
    let project = platform();
    let all = facts("", &check(&project, "", &["."]));
    let mut compared = 0;
    for top in ["apps", "infrastructure/machines"] {
        for path in workload_paths(&project, top) {
            let wanted = in_path(&all, &path);
            compared += wanted.len();
            for directory in ["", "apps", "clusters/prod-eu", "tenants/staging"] {
                let found = facts(directory, &check(&project, directory, &[&path]));
                assert_eq!(found, wanted, "{path} in {directory:?}");
            }
        }
    }
    assert!(compared > 12, "{compared}");
}

#[test]
fn several_paths_have_the_findings_of_each() {
    let project = platform();
    let all = facts("", &check(&project, "", &["."]));
    let paths = ["apps/orders/deployment.yaml", "apps/storefront"];
    let mut wanted = in_path(&all, paths[0]);
    wanted.extend(in_path(&all, paths[1]));
    assert_eq!(facts("", &check(&project, "", &paths)), wanted);
}

#[test]
fn a_run_from_outside_finds_the_same() {
    let project = platform();
    let all = facts("", &check(&project, "", &["."]));
    let outside = Project::new();
    let place = project.path("apps");
    let report = outside
        .run(&[
            "check",
            "--fail-on=never",
            "--output-format=json",
            place.to_str().unwrap(),
        ])
        .exits(0);
    assert_eq!(findings(&report).len(), in_path(&all, "apps").len());
}

/// Returns whether a finding names a cluster in its overlays.
fn is_of_cluster(finding: &Value, cluster: &str) -> bool {
    let overlays = finding.get("overlays").and_then(Value::as_array);
    let mut named = overlays.into_iter().flatten().filter_map(Value::as_str);
    named.any(|overlay| overlay.contains(cluster))
}

/// Returns the folders that a cluster deploys.
fn deployed_paths(project: &Project, cluster: &str) -> Vec<String> {
    let tenant = project.read(&format!("tenants/{cluster}/kustomization.yaml"));
    let mut folders: Vec<String> = tenant
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ../../"))
        .map(|folder| format!("{folder}/"))
        .collect();
    if project
        .path(&format!("clusters/{cluster}/machines.yaml"))
        .exists()
    {
        folders.push("infrastructure/machines/".to_owned());
    }
    folders
}

#[test]
fn a_cluster_has_the_findings_of_the_workloads_that_it_deploys() {
    let project = platform();
    let whole = check(&project, "", &["."]);
    for cluster in CLUSTERS {
        let path = format!("clusters/{cluster}");
        let found = check(&project, "", &[&path]);
        let deploys = deployed_paths(&project, cluster);
        let wanted: Vec<Value> = whole
            .iter()
            .filter(|finding| {
                let path = finding.get("path").and_then(Value::as_str).unwrap();
                let is_shared = finding.get("overlays").is_none();
                is_of_cluster(finding, cluster)
                    || (is_shared && deploys.iter().any(|folder| path.starts_with(folder)))
            })
            .cloned()
            .collect();
        assert!(!wanted.is_empty(), "{cluster}");
        assert_eq!(facts("", &found), facts("", &wanted), "{cluster}");
        for other in CLUSTERS.iter().filter(|other| **other != cluster) {
            let of_other = found.iter().filter(|finding| is_of_cluster(finding, other));
            assert_eq!(of_other.count(), 0, "{cluster} {other}");
        }
        for directory in ["apps/orders", &path] {
            let elsewhere = check(&project, directory, &[&path]);
            assert_eq!(facts(directory, &elsewhere), facts("", &found), "{cluster}");
        }
    }
}

#[test]
fn the_clusters_together_have_all_findings() {
    let project = platform();
    let whole = facts("", &check(&project, "", &["."]));
    assert_eq!(facts("", &check(&project, "", &["clusters"])), whole);
    let summary = project.run(&["check", "clusters"]).exits(1);
    assert!(
        !summary.stdout.contains("0 workloads"),
        "{}",
        summary.stdout
    );
}

#[test]
fn predict_shows_what_a_cluster_deploys() {
    let project = platform();
    let rows = |path: &str| {
        let run = project
            .run(&["predict", "--output-format", "json", path])
            .exits(0);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        report.get("workloads").unwrap().as_array().unwrap().len()
    };
    assert_eq!(rows("clusters/prod-us"), 3);
    assert_eq!(rows("clusters/prod-eu"), 5);
}
