//! `predict` reports the same for a tree of kustomizations as for the output of the real kustomize:
//! `fixtures/kustomize/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{fixture, kustomize, meshprobe};
use serde_json::Value;

/// Returns one line per handler: object, container, slot, the treatment by the mesh, and the outcome.
fn lines(report: &str, wanted: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let workloads = report.get("workloads").unwrap().as_array().unwrap();
    let mut found = BTreeSet::new();
    for workload in workloads.iter().filter(|workload| wanted(workload)) {
        for handler in workload.get("handlers").unwrap().as_array().unwrap() {
            let parts = [
                "container",
                "list",
                "slot",
                "kind",
                "rewritten",
                "mtls",
                "outcome",
                "becomes",
                "kubelet",
            ];
            let parts = parts.map(|name| handler.get(name).unwrap().to_string());
            let plane = workload.pointer("/dataplane/value").unwrap();
            found.insert(format!(
                "{} {plane} {}",
                workload.get("object").unwrap(),
                parts.join(" ")
            ));
        }
    }
    found
}

/// Returns the folders of the kustomizations that no other kustomization of the tree lists.
fn roots(tree: &Path) -> Vec<PathBuf> {
    use meshprobe::source::{Input, Request};
    let sources = meshprobe::engine::load(&Request {
        targets: vec![Input::Path(PathBuf::from("."))],
        working_directory: tree.to_path_buf(),
        ..Request::default()
    });
    let renderings = meshprobe::gitops::render(&sources);
    let folder = |path: &str| Path::new(path).parent().unwrap().to_path_buf();
    renderings
        .iter()
        .map(|rendering| folder(&rendering.id.root))
        .collect()
}

#[test]
fn predictions_for_a_tree_equal_those_for_its_build() {
    let Some(kustomize) = kustomize() else { return };
    let (mut trees, mut handlers) = (0, 0);
    for entry in std::fs::read_dir(fixture("kustomize")).unwrap() {
        let tree = entry.unwrap().path();
        if !tree.is_dir() {
            continue;
        }
        trees += 1;
        let mut built = BTreeSet::new();
        for root in roots(&tree) {
            let output = Command::new(&kustomize)
                .args(["build", "--load-restrictor", "LoadRestrictionsNone"])
                .arg(tree.join(&root))
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8(output.stdout).unwrap();
            let arguments = ["predict", "--isolated", "--output-format", "json", "-"];
            let run = meshprobe(&tree, &arguments, &text);
            built.extend(lines(&run.stdout, |_| true));
        }
        let arguments = ["predict", "--isolated", "--output-format", "json", "."];
        let run = meshprobe(&tree, &arguments, "");
        let predicted = lines(&run.stdout, |_| true);
        let name = tree.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(predicted, built, "{name}");
        handlers += predicted.len();
    }
    println!("{handlers} handlers of {trees} trees have the same predictions as in their builds");
    assert!(trees >= 12, "{trees} trees");
}
