//! Admission of pre-rewritten probes by the webhooks of OSM, Kuma and Consul: the result, and that it is reported as
//! a fault. Also the endpoints that Consul exposes.
//!
//! `fixtures/{osm,kuma,consul}/README.md` describe the recorded answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::isolated;
use crate::support::predictions::handlers as predicted_handlers;
use crate::support::{Run, case_folders};
use serde::Deserialize as _;
use serde_json::{Map, Value};

const HELPER: &str = "osm-healthcheck";

fn expected(case: &Path, file: &str) -> Value {
    let text = fs::read_to_string(case.join(file)).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    all["results"][0].clone()
}

fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

/// Returns the documents as JSON, which is valid YAML.
fn written(documents: &[Value]) -> String {
    let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    texts.join("\n---\n") + "\n"
}

fn run(arguments: &[&str], options: &[&str], text: &str) -> Run {
    isolated(&[arguments, options].concat(), text)
}

fn template(documents: &mut [Value]) -> &mut Value {
    let mut all = documents.iter_mut();
    let workload = all
        .find(|document| document["kind"] == "Deployment")
        .unwrap();
    &mut workload["spec"]["template"]
}

/// Returns the input with the probes from the webhook, and nothing else that it added, as a user might commit it.
fn pre_rewritten(case: &Path, options: &[&str]) -> String {
    let before = fs::read_to_string(case.join("input.yaml")).unwrap();
    let shown = run(&["rewrite", "--preview"], options, &before);
    let mut rewritten = documents(&shown.stdout);
    let original = template(&mut documents(&before)).clone();
    let template = template(&mut rewritten);
    if let Some(metadata) = original.get("metadata") {
        template["metadata"] = metadata.clone();
    } else if let Some(fields) = template.as_object_mut() {
        fields.remove("metadata");
    }
    let containers = template["spec"]["containers"].as_array_mut().unwrap();
    containers.retain(|container| container["name"] != HELPER);
    written(&rewritten)
}

/// Returns probes and hooks by container; omits containers without any.
fn handlers(containers: &Value) -> BTreeMap<String, Value> {
    const KEYS: [&str; 4] = [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let mut all = BTreeMap::new();
    for container in containers.as_array().unwrap() {
        let mut kept = Map::new();
        for key in KEYS {
            let Some(mut value) = container.get(key).cloned() else {
                continue;
            };
            if let Some(grpc) = value.get_mut("grpc").and_then(Value::as_object_mut) {
                grpc.retain(|_, value| !value.is_null());
            }
            kept.insert(key.to_owned(), value);
        }
        if !kept.is_empty() {
            all.insert(container["name"].as_str().unwrap().to_owned(), kept.into());
        }
    }
    all
}

/// Returns the outcomes of the handlers that the webhook changes, or because of which it refuses the pod.
fn outcomes(options: &[&str], text: &str) -> Vec<String> {
    let shown = run(&["predict", "--output-format", "json"], options, text);
    let handlers = predicted_handlers(&shown).into_iter();
    handlers
        .filter(|handler| handler["rewritten"] == true)
        .map(|handler| handler["outcome"].as_str().unwrap().to_owned())
        .collect()
}

/// OSM: the paths stay, so the proxy sends requests to itself. Probes that targeted the helper now target the proxy.
#[test]
fn pre_rewritten_probes_fail_with_osm() {
    let releases: [(&[&str], &str); 2] = [
        (&[], "expected.json"),
        (
            &["--mesh", "osm", "--mesh-version", "1.3"],
            "expected.head.json",
        ),
    ];
    let (mut passes, mut probes) = (0, 0);
    for case in case_folders("osm") {
        for (options, file) in releases {
            let expected = expected(&case, file);
            let second = &expected["webhookOnAlreadyRewrittenProbes"];
            let Some(containers) = second.get("containers") else {
                continue;
            };
            let text = pre_rewritten(&case, options);
            let shown = run(&["rewrite", "--preview"], options, &text);
            let mut after = documents(&shown.stdout);
            let after = &template(&mut after)["spec"]["containers"];
            assert_eq!(handlers(after), handlers(containers), "{case:?} {file}");
            let helper = after
                .as_array()
                .unwrap()
                .iter()
                .any(|container| container["name"] == HELPER);
            let wanted = second.get("osmHealthcheckContainer").is_some();
            assert_eq!(helper, wanted, "{case:?} {file}");
            for outcome in outcomes(options, &text) {
                assert_eq!(outcome, "fails", "{case:?} {file}");
                probes += 1;
            }
            passes += 1;
        }
    }
    println!("osm: {passes} second passes, {probes} probes that fail");
    assert_eq!((passes, probes), (58, 76));
}

/// Kuma: a pod with a probe on the port of the probe proxy is refused.
#[test]
fn kuma_refuses_pods_with_pre_rewritten_probes() {
    let (mut refused, mut unchanged) = (0, 0);
    for case in case_folders("kuma") {
        let expected = expected(&case, "expected.json");
        let Some(second) = expected["webhookOnAlreadyRewrittenProbes"].as_str() else {
            continue;
        };
        let text = pre_rewritten(&case, &["--mesh", "kuma"]);
        let shown = run(&["rewrite", "--preview"], &["--mesh", "kuma"], &text);
        if second == "unchanged" {
            assert_eq!((shown.code, &shown.stdout), (0, &text), "{case:?}");
            unchanged += 1;
        } else {
            assert_eq!((shown.code, &shown.stdout), (1, &text), "{case:?}");
            assert!(shown.stderr.contains("admission-refused"), "{case:?}");
            let checked = run(&["check"], &["--mesh", "kuma"], &text);
            assert!(checked.stdout.contains("kuma-reserved-port"), "{case:?}");
            refused += 1;
        }
    }
    assert_eq!((refused, unchanged), (11, 5));
}

/// Consul: the ports stay, and Consul exposes the listener itself.
#[test]
fn consul_exposes_the_predicted_endpoints() {
    let mut exposed = 0;
    for case in case_folders("consul") {
        let expected = expected(&case, "expected.json");
        let before = fs::read_to_string(case.join("input.yaml")).unwrap();
        exposed += compare_endpoints(&case, &before, &expected["exposePaths"]);
        let second = &expected["webhookOnAlreadyRewrittenProbes"];
        if second.is_array() {
            let text = pre_rewritten(&case, &[]);
            let shown = run(&["rewrite", "--preview"], &[], &text);
            let mut after = documents(&shown.stdout);
            let after = &template(&mut after)["spec"]["containers"];
            assert_eq!(handlers(after), handlers(second), "{case:?}");
            let again = &expected["exposePathsOnAlreadyRewrittenProbes"];
            exposed += compare_endpoints(&case, &text, again);
            let outcomes = outcomes(&[], &text);
            assert!(
                outcomes.iter().all(|outcome| outcome == "fails"),
                "{case:?}"
            );
        }
    }
    assert_eq!(exposed, 27, "exposed paths, before and after");
}

/// Compares the endpoints of an explanation with those that Consul registers, and returns their number.
fn compare_endpoints(case: &Path, text: &str, paths: &Value) -> usize {
    let Some(paths) = paths.as_array() else {
        return 0;
    };
    let shown = run(&["predict", "--explain"], &["--mesh", "consul"], text);
    let explained = shown.stdout.lines().filter_map(|line| {
        let endpoint = line.trim().strip_prefix("endpoint    a listener on ")?;
        Some(endpoint.to_owned())
    });
    let wanted = paths.iter().map(|exposed| {
        let path = exposed["path"].as_str().unwrap();
        let (listener, port) = (&exposed["listenerPort"], &exposed["localPathPort"]);
        format!("{listener} exposes {path} of 127.0.0.1:{port}")
    });
    let (explained, wanted): (BTreeSet<String>, BTreeSet<String>) =
        (explained.collect(), wanted.collect());
    assert_eq!(explained, wanted, "{case:?}");
    wanted.len()
}
