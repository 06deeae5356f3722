//! Compares predictions with outcomes that were measured with a real Envoy, Istio's traffic capture, its agent and
//! the kubelet's prober. See `fixtures/live/README.md`.

use std::collections::BTreeMap;

use crate::support::{fixture, meshprobe, predictions};
use serde_json::Value;

/// Returns the prediction for the only handler of each workload of a tree, by the name of the workload.
fn handlers(policies: &str, rewrite: &str) -> BTreeMap<String, Value> {
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
    let run = meshprobe(&fixture("live"), &arguments, "");
    predictions::workloads(&run)
        .iter()
        .map(|workload| {
            let name = workload["object"]["name"].as_str().unwrap();
            let handlers = workload["handlers"].as_array().unwrap();
            assert_eq!(handlers.len(), 1, "{name}");
            (name.to_owned(), handlers[0].clone())
        })
        .collect()
}

#[test]
fn the_measured_outcome_of_every_decided_row_is_predicted() {
    let table = std::fs::read_to_string(fixture("live/expected.csv")).unwrap();
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
            .or_insert_with(|| handlers(policies, rewrite));
        // A probe that also fails without a mesh is not a fault of the mesh.
        let predicted = match tree[workload]["outcome"].as_str().unwrap() {
            "broken-without-mesh" => "ok",
            outcome => outcome,
        };
        assert_eq!(predicted, expected, "{line}");
        judged += 1;
    }
    println!("{judged} judged rows of {} trees agree", trees.len());
    assert_eq!(judged, 1006);
}

/// Compares the predicted texts of the kubelet with the measured ones, for running applications whose probes fail
/// only in the mesh. The end of a refused TLS connection is a race, so `tests/live` covers HTTPS.
#[test]
fn predicted_texts_equal_those_of_the_kubelet() {
    let table = std::fs::read_to_string(fixture("live/verdicts.csv")).unwrap();
    let mut trees = BTreeMap::new();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let mut fields = line.splitn(6, ',');
        let [case, policies, rewrite, _, verdict, text] = [(); 6].map(|()| fields.next().unwrap());
        if (rewrite, verdict) != ("off", "FALSE_NEGATIVE") || policies == "none" {
            continue;
        }
        let handler = &trees
            .entry(policies)
            .or_insert_with(|| handlers(policies, rewrite))[case];
        let Some(predicted) = handler["kubelet"].as_str() else {
            continue;
        };
        if handler["outcome"] != "fails" || predicted.contains("Get \"https:") {
            continue;
        }
        let measured = text
            .trim_matches('"')
            .replace("\"\"", "\"")
            .replace("10.77.0.1:EPHEMERAL", "<node>")
            .replace("10.77.0.2", "<pod>");
        assert!(
            measured.split(" || ").any(|text| text == predicted),
            "{case}, {policies}: predicted {predicted}, measured {measured}"
        );
        compared += 1;
    }
    println!("{compared} texts agree");
    assert_eq!(compared, 75);
}
