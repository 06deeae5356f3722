//! Compares the injection and the rewrite that `predict` reports with those of Istio's own injector, release by
//! release. `fixtures/istio/README.md` describes the goldens.

use std::collections::BTreeMap;
use std::fs;

use crate::support::predictions::workloads;
use crate::support::{case_folders, meshprobe};
use serde_json::Value;

/// Returns whether the webhook differs from the golden of a case, according to `fixtures/istio/permitted.csv` or the
/// `meta.json` of the case.
fn is_exception(case: &str, release: &str) -> bool {
    let minor: u32 = release.split('.').nth(1).unwrap().parse().unwrap();
    // The selectors of the webhook exclude the pod, so the injector never receives it.
    let by_selector = case == "inject-label-false" && minor < 12;
    // kube-inject does not inject a pod that already has a sidecar. `predict` reports that sidecar.
    let own_sidecar = case.starts_with("reinject-") && minor < 17;
    by_selector || own_sidecar
}

/// Returns `list/container/slot` of each handler that the injector points to the agent.
fn rewritten_by_injector(entry: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for container in entry["containers"].as_array().unwrap() {
        let name = container["name"].as_str().unwrap();
        if name == "istio-proxy" {
            continue;
        }
        let list = container["in"].as_str().unwrap();
        let slots = ["livenessProbe", "readinessProbe", "startupProbe"];
        let probes = slots.iter().map(|slot| (*slot, container.get(*slot)));
        let hooks = ["postStart", "preStop"];
        let hooks = hooks
            .iter()
            .map(|slot| (*slot, container.pointer(&format!("/lifecycle/{slot}"))));
        for (slot, handler) in probes.chain(hooks) {
            let path = handler.and_then(|handler| handler.pointer("/httpGet/path"));
            if path
                .and_then(Value::as_str)
                .is_some_and(|path| path.starts_with("/app-"))
            {
                found.push(format!("{list}/{name}/{slot}"));
            }
        }
    }
    found.sort();
    found
}

fn rewritten_by_prediction(workload: &Value) -> Vec<String> {
    let handlers = workload["handlers"].as_array().unwrap();
    let text = |handler: &Value, name: &str| handler[name].as_str().unwrap().to_owned();
    let mut found: Vec<String> = handlers
        .iter()
        .filter(|handler| handler["rewritten"] == true)
        .map(|handler| {
            let parts = ["list", "container", "slot"].map(|name| text(handler, name));
            parts.join("/")
        })
        .collect();
    found.sort();
    found
}

#[test]
fn injection_and_rewrite_agree_with_the_injector_of_every_release() {
    let mut faults = Vec::new();
    let mut counts = BTreeMap::new();
    for folder in &case_folders("istio/rewrite") {
        let case = folder.file_name().unwrap().to_string_lossy().into_owned();
        let golden = fs::read_to_string(folder.join("expected.json")).unwrap();
        let golden: Value = serde_json::from_str(&golden).unwrap();
        for group in golden.as_array().unwrap() {
            for release in group["versions"].as_array().unwrap() {
                let release = release.as_str().unwrap();
                let arguments = [
                    "predict",
                    "--isolated",
                    "--output-format",
                    "json",
                    "--assume",
                    "injection=all",
                    "--mesh-version",
                    release,
                    "input.yaml",
                ];
                let run = meshprobe(folder, &arguments, "");
                let predicted = workloads(&run);
                let admitted = group["admitted"].as_array().unwrap();
                assert_eq!(predicted.len(), admitted.len(), "{case} {release}");
                for (predicted, entry) in predicted.iter().zip(admitted) {
                    let kind = compare(predicted, entry);
                    *counts.entry(kind.0).or_insert(0) += 1;
                    if !kind.1.is_empty() && !is_exception(&case, release) {
                        faults.push(format!("{case} {release}: {}", kind.1));
                    }
                }
            }
        }
    }
    println!("{counts:?}");
    assert!(
        faults.is_empty(),
        "{} differences, {counts:?}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

fn compare(predicted: &Value, entry: &Value) -> (&'static str, String) {
    let dataplane = predicted["dataplane"]["value"].as_str().unwrap();
    if entry.get("error").is_some() {
        // The pod is rejected at admission, so there are no rewritten probes to compare.
        return ("rejected by the API server or the injector", String::new());
    }
    if entry.get("skipped").is_some() {
        let fault = if dataplane == "none" {
            String::new()
        } else {
            format!("not injected, but {dataplane}")
        };
        return ("not injected", fault);
    }
    if dataplane == "none" || dataplane == "unknown" {
        return ("injected", format!("injected, but {dataplane}"));
    }
    let (want, got) = (
        rewritten_by_injector(entry),
        rewritten_by_prediction(predicted),
    );
    let fault = if want == got {
        String::new()
    } else {
        format!("rewritten {want:?}, predicted {got:?}")
    };
    ("injected", fault)
}
