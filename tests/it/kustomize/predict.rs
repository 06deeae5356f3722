//! What `predict` says of a tree of kustomizations is what it says of the output of the real
//! kustomize: `fixtures/kustomize/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{fixture, kustomize, meshprobe};
use serde_json::Value;

/// One line per handler: object, container, slot, what the mesh does and what comes of it.
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

/// The folders of the kustomizations that no other one of the tree lists.
fn roots(tree: &Path) -> Vec<PathBuf> {
    use meshprobe::source::{Input, Request};
    let sources = meshprobe::engine::load(&Request {
        targets: vec![Input::Path(PathBuf::from("."))],
        working_directory: tree.to_path_buf(),
        ..Request::default()
    });
    let renderings = meshprobe::context::render::render(&sources);
    let folder = |path: &str| Path::new(path).parent().unwrap().to_path_buf();
    renderings
        .iter()
        .map(|rendering| folder(&rendering.root))
        .collect()
}

#[test]
fn a_tree_is_judged_as_its_build_is() {
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
        let judged = lines(&run.stdout, |_| true);
        let name = tree.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(judged, built, "{name}");
        handlers += judged.len();
    }
    println!("{handlers} handlers of {trees} trees are judged as their builds are");
    assert!(trees >= 12, "{trees} trees");
}
