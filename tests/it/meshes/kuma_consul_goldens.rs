//! Compares the output of `rewrite --preview` with that of the webhooks of Kuma and Consul.
//!
//! `fixtures/kuma/README.md` and `fixtures/consul/README.md` describe the data.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Run, case_folders, meshprobe};
use serde::Deserialize as _;
use serde_json::{Map, Value};

fn preview(case: &Path, mesh: &str, options: &[&str]) -> Run {
    let mut arguments = vec!["rewrite", "--isolated", "--preview", "--mesh", mesh];
    arguments.extend(options);
    arguments.push("input.yaml");
    meshprobe(case, &arguments, "")
}

fn pod_spec(text: &str) -> Value {
    let documents = serde_yaml::Deserializer::from_str(text);
    let mut documents = documents.map(|document| Value::deserialize(document).unwrap());
    let workload = documents
        .find(|document| document["kind"] == "Deployment")
        .unwrap();
    workload["spec"]["template"].clone()
}

/// Returns probes and hooks by container. A `service` that is null is omitted.
fn handlers(lists: &[&Value]) -> BTreeMap<String, Value> {
    const KEYS: [&str; 4] = [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let containers = lists.iter().filter_map(|list| list.as_array()).flatten();
    let mut all = BTreeMap::new();
    for container in containers {
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
        all.insert(container["name"].as_str().unwrap().to_owned(), kept.into());
    }
    all
}

/// Compares a case with one of its recorded answers, and returns the class of the result.
fn compare(case: &Path, mesh: &str, options: &[&str], expected: &Value) -> &'static str {
    let before = fs::read_to_string(case.join("input.yaml")).unwrap();
    let run = preview(case, mesh, options);
    if expected.get("error").is_some() {
        assert_eq!((run.code, &run.stdout), (1, &before), "{case:?}");
        assert!(run.stderr.contains("admission-refused"), "{}", run.stderr);
        return "refused";
    }
    assert_eq!(run.code, 0, "{case:?} {}", run.stderr);
    if expected["inject"] == false {
        assert_eq!(run.stdout, before, "{case:?}");
        return "unchanged";
    }
    let spec = &pod_spec(&run.stdout)["spec"];
    let none = Value::Null;
    let init = expected.get("initContainers").unwrap_or(&none);
    let compared = if init.is_null() {
        handlers(&[&spec["containers"]])
    } else {
        handlers(&[&spec["containers"], &spec["initContainers"]])
    };
    assert_eq!(
        compared,
        handlers(&[&expected["containers"], init]),
        "{case:?}"
    );
    "equal"
}

fn count(mesh: &str) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for case in case_folders(mesh) {
        let text = fs::read_to_string(case.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let native = expected.get("resultsWithSidecarContainers");
        let classic: &[&str] = match native {
            Some(_) => &["--assume", "native-sidecars=false"],
            None => &[],
        };
        let class = compare(&case, mesh, classic, &expected["results"][0]);
        *counts.entry(class).or_default() += 1;
        if let Some(native) = native {
            let options = ["--assume", "native-sidecars=true"];
            assert_eq!(compare(&case, mesh, &options, &native[0]), "equal");
        }
    }
    println!("{mesh}: {} cases, {counts:?}", case_folders(mesh).len());
    counts
}

#[test]
fn a_preview_equals_the_output_of_the_webhook_of_kuma() {
    let counts = count("kuma");
    let wanted = BTreeMap::from([("equal", 16), ("unchanged", 1), ("refused", 2)]);
    assert_eq!(counts, wanted);
}

#[test]
fn a_preview_equals_the_output_of_the_webhook_of_consul() {
    let counts = count("consul");
    assert_eq!(counts, BTreeMap::from([("equal", 14), ("unchanged", 1)]));
}

/// The preview contains annotations because of which the webhook of Kuma does not change the probes again, so a
/// second preview changes nothing.
#[test]
fn a_second_preview_for_kuma_changes_nothing() {
    let case = case_folders("kuma")
        .into_iter()
        .find(|folder| folder.ends_with("http"));
    let case = case.unwrap();
    let annotations = |text: &str| pod_spec(text)["metadata"]["annotations"].clone();
    for (release, wanted) in [(None, 2), (Some("2.9"), 4)] {
        let mut options = Vec::new();
        if let Some(release) = release {
            options.extend(["--mesh-version", release]);
        }
        let first = preview(&case, "kuma", &options);
        let added = annotations(&first.stdout);
        assert_eq!(added["kuma.io/application-probe-proxy-port"], "0");
        let port = "KUMA_APPLICATION_PROBE_PROXY_PORT=9001";
        assert_eq!(added["kuma.io/sidecar-env-vars"], port);
        assert_eq!(added.as_object().unwrap().len(), wanted, "{release:?}");
        let mut arguments = vec!["rewrite", "--isolated", "--preview", "--mesh", "kuma"];
        arguments.extend(&options);
        arguments.push("-");
        let again = meshprobe(&case, &arguments, &first.stdout);
        assert_eq!(again.stdout, first.stdout, "{release:?}");
        arguments[0] = "check";
        arguments.remove(2);
        let checked = meshprobe(&case, &arguments, &first.stdout);
        assert_eq!(checked.code, 0, "{release:?} {}", checked.stdout);
    }
    // A port that the user sets is kept.
    let moved = case_folders("kuma")
        .into_iter()
        .find(|folder| folder.ends_with("custom-port"));
    let first = preview(&moved.unwrap(), "kuma", &[]);
    let env = annotations(&first.stdout)["kuma.io/sidecar-env-vars"].clone();
    assert_eq!(env, "KUMA_APPLICATION_PROBE_PROXY_PORT=19001");
    let again = ["rewrite", "--isolated", "--preview", "--mesh", "kuma", "-"];
    assert_eq!(meshprobe(&case, &again, &first.stdout).stdout, first.stdout);
    let old = preview(&case, "kuma", &["--mesh-version", "2.8"]);
    assert!(old.stderr.contains("release-too-old"), "{}", old.stderr);
}

/// If the user already sets variables of the sidecar, the preview is refused.
#[test]
fn annotations_of_the_user_are_not_changed() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: \
                {kuma.io/sidecar-injection: enabled}\n  annotations: {kuma.io/sidecar-env-vars: \
                A=1}\nspec:\n  containers:\n    - name: web\n      image: x\n      livenessProbe: \
                {httpGet: {path: /, port: 80}}\n";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = meshprobe(root, &["rewrite", "--isolated", "--preview", "-"], text);
    assert_eq!((run.code, run.stdout.as_str()), (1, text));
    assert!(run.stderr.contains("annotation-taken"), "{}", run.stderr);
}
