//! Predictions against measured outcomes: a real Envoy, the redirect of Istio, its agent and the
//! prober of the kubelet. See `fixtures/live/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::meshprobe;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/live")
}

/// Predicts one tree: the outcome of the only handler of each workload.
fn outcomes(policies: &str, rewrite: &str) -> BTreeMap<String, String> {
    let workloads = format!("workloads.{rewrite}.yaml");
    let policies = format!("policies/{policies}.yaml");
    let arguments = [
        "predict",
        "--isolated",
        "--output-format",
        "json",
        "base.yaml",
        &workloads,
        &policies,
    ];
    let run = meshprobe(&root(), &arguments, "");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    workloads
        .iter()
        .map(|workload| {
            let name = workload["object"]["name"].as_str().unwrap();
            let handlers = workload["handlers"].as_array().unwrap();
            assert_eq!(handlers.len(), 1, "{name}");
            (
                name.to_owned(),
                handlers[0]["outcome"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

#[test]
fn every_judged_row_is_predicted() {
    let table = std::fs::read_to_string(root().join("expected.csv")).unwrap();
    let mut trees = BTreeMap::new();
    let mut judged = 0;
    for line in table.lines().skip(1) {
        let [workload, policies, rewrite, expected] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap();
        if expected == "not-judged" {
            continue;
        }
        let tree = trees
            .entry((policies, rewrite))
            .or_insert_with(|| outcomes(policies, rewrite));
        // What fails without a mesh too is no fault of the mesh.
        let predicted = match tree.get(workload).unwrap().as_str() {
            "broken-without-mesh" => "ok",
            outcome => outcome,
        };
        assert_eq!(predicted, expected, "{line}");
        judged += 1;
    }
    println!("{judged} judged rows of {} trees agree", trees.len());
    assert_eq!(judged, 1006);
}
