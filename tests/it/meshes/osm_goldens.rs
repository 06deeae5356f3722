//! Compares the output of `rewrite --preview` and `rewrite --emit-envoy` with that of OSM's own webhook.
//!
//! `fixtures/osm/README.md` describes the data.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Run, case_folders, meshprobe};
use serde_json::{Map, Value, json};

/// The two releases: the options that select each, and the file with its recorded answers.
const RELEASES: [(&[&str], &str); 2] = [
    (&[], "expected.json"),
    (
        &["--mesh", "osm", "--mesh-version", "1.3"],
        "expected.head.json",
    ),
];

fn run(case: &Path, release: &[&str], options: &[&str]) -> Run {
    let mut arguments = vec!["rewrite", "--isolated"];
    arguments.extend(release);
    arguments.extend(options);
    arguments.push("input.yaml");
    meshprobe(case, &arguments, "")
}

fn expected(case: &Path, file: &str) -> Value {
    let text = fs::read_to_string(case.join(file)).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    let results = all["results"].as_array_mut().unwrap();
    assert_eq!(results.len(), 1, "{case:?}");
    results.remove(0)
}

fn documents(text: &str) -> Vec<Value> {
    use serde::Deserialize as _;
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

fn containers(text: &str) -> Vec<Value> {
    let documents = documents(text);
    let workload = documents
        .iter()
        .find(|document| document["kind"] == "Deployment");
    let spec = &workload.unwrap()["spec"]["template"]["spec"];
    spec["containers"].as_array().unwrap().clone()
}

/// Returns the fields of containers that the answers contain, by name; omits containers without any.
fn projected(containers: &[Value]) -> BTreeMap<String, Value> {
    const KEYS: [&str; 4] = [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let mut all = BTreeMap::new();
    for container in containers {
        let mut kept = Map::new();
        for key in KEYS {
            if let Some(value) = container.get(key) {
                kept.insert(key.to_owned(), value.clone());
            }
        }
        if !kept.is_empty() {
            all.insert(container["name"].as_str().unwrap().to_owned(), kept.into());
        }
    }
    all
}

/// Fills in the path that Envoy restores. The API server sets it before a webhook receives the pod, so it is never
/// empty in a cluster, but it is empty in the answers, which were recorded without a cluster.
fn defaulted(mut listeners: Value) -> Value {
    let routes = "/filter_chains/0/filters/0/typed_config/route_config/virtual_hosts/0/routes";
    for listener in listeners.as_array_mut().unwrap() {
        let Some(routes) = listener.pointer_mut(routes) else {
            continue;
        };
        for route in routes.as_array_mut().unwrap() {
            let target = route["route"].as_object_mut().unwrap();
            target.entry("prefix_rewrite").or_insert_with(|| json!("/"));
        }
    }
    listeners
}

#[test]
fn a_preview_equals_the_output_of_the_webhook() {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for case in case_folders("osm") {
        for (release, file) in RELEASES {
            let expected = expected(&case, file);
            let before = fs::read_to_string(case.join("input.yaml")).unwrap();
            let run = run(&case, release, &["--preview"]);
            let class = if expected.get("error").is_some() {
                assert_eq!(run.code, 1, "{case:?}");
                assert!(run.stderr.contains("admission-refused"), "{}", run.stderr);
                assert_eq!(run.stdout, before, "{case:?}");
                "refused"
            } else if expected["inject"] == false {
                assert_eq!((run.code, &run.stdout), (0, &before), "{case:?}");
                "unchanged"
            } else {
                assert_eq!(run.code, 0, "{case:?} {}", run.stderr);
                assert_equal(&case, &expected, &run);
                "equal"
            };
            *counts.entry((file, class)).or_default() += 1;
        }
    }
    println!("osm: {} cases, {counts:?}", case_folders("osm").len());
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(
        counts,
        [
            (("expected.head.json", "equal"), 29),
            (("expected.head.json", "refused"), 1),
            (("expected.head.json", "unchanged"), 4),
            (("expected.json", "equal"), 29),
            (("expected.json", "refused"), 1),
            (("expected.json", "unchanged"), 4),
        ]
    );
}

fn assert_equal(case: &Path, expected: &Value, run: &Run) {
    let mut after = containers(&run.stdout);
    let helper = after
        .iter()
        .position(|container| container["name"] == "osm-healthcheck");
    let helper = helper.map(|index| after.remove(index));
    let mut wanted = expected.get("osmHealthcheckContainer").cloned();
    if let Some(fields) = wanted.as_mut().and_then(Value::as_object_mut) {
        assert_eq!(fields.remove("resources"), Some(json!({})));
    }
    assert_eq!(helper, wanted, "{case:?}");
    let wanted = expected["containers"].as_array().unwrap();
    assert_eq!(projected(&after), projected(wanted), "{case:?}");
}

#[test]
fn the_envoy_configuration_equals_that_of_the_webhook() {
    let mut compared = 0;
    for case in case_folders("osm") {
        for (release, file) in RELEASES {
            let expected = expected(&case, file);
            let run = run(&case, release, &["--emit-envoy", "--quiet"]);
            let is_refused = expected.get("error").is_some();
            assert_eq!(run.code, i32::from(is_refused), "{case:?} {}", run.stderr);
            let documents = documents(&run.stdout);
            let Some(listeners) = expected.get("bootstrapProbeListeners") else {
                assert!(documents.is_empty(), "{case:?}: {documents:?}");
                continue;
            };
            let resources = &documents[0]["static_resources"];
            assert_eq!(
                resources["listeners"],
                defaulted(listeners.clone()),
                "{case:?}"
            );
            assert_eq!(
                resources["clusters"], expected["bootstrapProbeClusters"],
                "{case:?}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 41, "pods whose proxy forwards probes");
}

/// Without `--preview`, every pod that the webhook would rewrite is refused, and no other pod.
#[test]
fn pods_that_the_webhook_rewrites_are_refused() {
    for case in case_folders("osm") {
        let expected = expected(&case, "expected.json");
        let before = fs::read_to_string(case.join("input.yaml")).unwrap();
        let run = run(&case, &[], &[]);
        assert_eq!(run.stdout, before, "{case:?}");
        let originals = expected.get("originalHealthProbes");
        let originals = originals.and_then(Value::as_object).into_iter().flatten();
        let is_rewritten = originals.into_iter().any(|(_, probe)| !probe.is_null());
        assert_eq!(
            run.stderr.contains("preview-only"),
            is_rewritten,
            "{case:?} {}",
            run.stderr
        );
    }
}
