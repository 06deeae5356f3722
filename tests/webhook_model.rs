//! The webhook after our rewrite is the webhook alone: proved on the goldens of Istio's own
//! injector and on generated pods, with a model that itself agrees with every golden.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;
mod webhook;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Run, meshprobe};
use webhook::defaults::{Types, defaulted, each_mut, handlers, of_containers};
use webhook::{Admitted, CONFIG, Mesh, OPT_OUT, admit, names, prober_envs, workloads};

const FORMS: [&str; 3] = ["sealed", "stub", "equal"];

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/istio/rewrite");
    let mut cases: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 115);
    cases
}

/// The golden of each release: what the injector made of each workload.
fn golden(folder: &Path) -> Vec<(String, Vec<Value>)> {
    let text = fs::read_to_string(folder.join("expected.json")).unwrap();
    let groups: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut all = Vec::new();
    for group in groups {
        let admitted = group["admitted"].as_array().unwrap().clone();
        for release in group["versions"].as_array().unwrap() {
            all.push((release.as_str().unwrap().to_owned(), admitted.clone()));
        }
    }
    all
}

/// Goldens that show another way in than the webhook's: `meta.json` of the case says so.
fn is_other_way(case: &str, release: &str) -> bool {
    let minor = Mesh::of(release).minor;
    // kube-inject up to 1.16 leaves pods with a sidecar alone.
    case.starts_with("reinject-") && minor < 17
        // kube-inject from 1.13 on follows the port of the proxy config.
        || case == "proxyconfig-statusport" && minor >= 13
}

#[test]
fn the_model_agrees_with_every_golden() {
    let (mut compared, mut other) = (0, 0);
    let mut faults = Vec::new();
    for folder in cases() {
        let case = folder.file_name().unwrap().to_string_lossy().into_owned();
        let pods = workloads(&fs::read_to_string(folder.join("input.yaml")).unwrap());
        for (release, admitted) in golden(&folder) {
            if is_other_way(&case, &release) {
                other += 1;
                continue;
            }
            assert_eq!(pods.len(), admitted.len(), "{case}");
            for (pod, golden) in pods.iter().zip(&admitted) {
                compared += 1;
                let fault = difference(&admit(pod, Mesh::of(&release)), golden, &release);
                faults.extend(fault.map(|fault| format!("{case} {release}: {fault}")));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    println!(
        "the model agrees with {compared} goldens; {other} show another way in than the webhook's"
    );
    assert!(compared >= 2000 && other <= 40, "{compared} {other}");
}

fn difference(got: &Admitted, golden: &Value, release: &str) -> Option<String> {
    let pod = match (got, golden.get("error"), golden.get("skipped")) {
        (Admitted::Error, Some(_), _) | (Admitted::Skipped, _, Some(_)) => return None,
        (Admitted::Injected(pod), None, None) => pod,
        _ => return Some(format!("{got:?}\nwant {golden}")),
    };
    let types = Types::of(release);
    let expected = golden["containers"].as_array().unwrap();
    let want = of_containers(
        expected
            .iter()
            .map(|one| (one["in"].as_str().unwrap(), one)),
        types,
    );
    let strings = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let proxy = expected
        .iter()
        .find(|one| one["name"] == "istio-proxy")
        .unwrap();
    let pairs = [
        (names(pod, "containers"), strings(&golden["containerOrder"])),
        (
            names(pod, "initContainers"),
            strings(&golden["initContainerOrder"]),
        ),
        (prober_envs(pod), strings(&proxy["probersEnv"])),
    ];
    let got = handlers(pod, types);
    if got != want {
        return Some(format!("handlers {got:#?}\nwant {want:#?}"));
    }
    let wrong = pairs.iter().find(|(got, want)| got != want)?;
    Some(format!("{:?}\nwant {:?}", wrong.0, wrong.1))
}

/// Runs `rewrite` as a filter; the release is left open where `told` is false.
fn rewritten(text: &str, form: &str, release: Option<&str>, more: &[&str]) -> Run {
    let mut arguments = vec!["rewrite", "--isolated", "--color", "never", "--form", form];
    arguments.extend(["--assume", "injection=all"]);
    if let Some(release) = release {
        arguments.extend(["--mesh-version", release]);
    }
    arguments.extend(more);
    arguments.push("-");
    meshprobe(Path::new("."), &arguments, text)
}

/// What the user sees of an injected pod. The forms with the opt-out write annotations, and the
/// sealed form hands the env through the template, so its place among the env is another one.
fn seen(admitted: &Admitted, form: &str) -> Admitted {
    let Admitted::Injected(pod) = admitted else {
        return admitted.clone();
    };
    let mut pod = pod.clone();
    let written: &[&str] = match form {
        "sealed" => &[OPT_OUT, CONFIG],
        "stub" => &[OPT_OUT],
        _ => &[],
    };
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.retain(|key, _| !written.contains(&key.as_str()));
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        if metadata.is_empty() {
            pod.as_object_mut().unwrap().remove("metadata");
        }
    }
    for list in ["containers", "initContainers"] {
        let items = pod
            .pointer_mut(&format!("/spec/{list}"))
            .and_then(Value::as_array_mut);
        for container in items.into_iter().flatten() {
            for (handler, is_probe) in each_mut(container) {
                *handler = defaulted(handler, is_probe);
            }
            let env = container.get_mut("env").and_then(Value::as_array_mut);
            if let Some(env) = env.filter(|_| form == "sealed") {
                env.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    Admitted::Injected(pod)
}

/// The webhook makes the same of the rewritten pods as of the originals.
fn composed(before: &str, after: &str, form: &str, mesh: Mesh) -> Result<(), String> {
    for (before, after) in workloads(before).iter().zip(&workloads(after)) {
        let want = seen(&admit(before, mesh), form);
        let got = seen(&admit(after, mesh), form);
        if got != want {
            return Err(format!("{mesh:?}\ngot {got:#?}\nwant {want:#?}"));
        }
    }
    Ok(())
}

#[test]
fn the_webhook_makes_the_same_of_every_golden() {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for folder in cases() {
        let case = folder.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(folder.join("input.yaml")).unwrap();
        for (release, _) in golden(&folder) {
            for form in FORMS {
                let run = rewritten(&text, form, Some(&release), &[]);
                let class = match (workloads(&text) == workloads(&run.stdout), run.status) {
                    (false, _) => "rewritten",
                    (true, 0) => "left alone",
                    (true, _) => "refused",
                };
                *counts.entry((form, class)).or_default() += 1;
                for native in [false, true] {
                    let mesh = Mesh {
                        native,
                        ..Mesh::of(&release)
                    };
                    if let Err(fault) = composed(&text, &run.stdout, form, mesh) {
                        faults.push(format!("{case} {release} {form}: {fault}"));
                    }
                }
            }
        }
    }
    println!("goldens composed with the model: {counts:?}");
    assert!(
        faults.is_empty(),
        "{}:\n{}",
        faults.len(),
        faults[..faults.len().min(3)].join("\n")
    );
}
