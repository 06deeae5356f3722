//! Checks that the webhook gives the same result for a rewritten pod as for the original, on the goldens of Istio's
//! own injector and on generated pods. The model of the webhook agrees with every golden.

use std::collections::BTreeMap;
use std::path::Path;

use super::kept;
use super::matrix::{Case, FORMS, Rewrite, cases};
use super::webhook::defaults::{Types, defaulted, each_mut, handlers, of_containers};
use super::webhook::{
    Admitted, CONFIG, Mesh, OPT_OUT, Workload, admit, names, pods, prober_envs, unserved, workloads,
};
use crate::support::{Run, meshprobe};
use rayon::prelude::*;
use serde_json::Value;

/// Returns whether a golden comes from `kube-inject`, not from the webhook, according to the `meta.json` of the case.
fn is_from_kube_inject(case: &str, release: &str) -> bool {
    let minor = Mesh::of(release).minor;
    // kube-inject up to 1.16 does not change pods with a sidecar.
    case.starts_with("reinject-") && minor < 17
        // kube-inject uses the port of the proxy config since 1.13.
        || case == "proxyconfig-statusport" && minor >= 13
}

#[test]
fn the_model_agrees_with_every_golden() {
    let (mut compared, mut skipped) = (0, 0);
    let mut faults = Vec::new();
    for case in cases() {
        let pods = &case.input;
        let name = &case.name;
        for (release, group) in case.releases() {
            let admitted = group["admitted"].as_array().unwrap();
            if is_from_kube_inject(name, release) {
                skipped += 1;
                continue;
            }
            assert_eq!(pods.len(), admitted.len(), "{name}");
            for (pod, golden) in pods.iter().zip(admitted) {
                compared += 1;
                let fault = difference(&admit(pod, Mesh::of(release)), golden, release);
                faults.extend(fault.map(|fault| format!("{name} {release}: {fault}")));
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
        "the model agrees with {compared} goldens; {skipped} are skipped, because they come from kube-inject"
    );
    assert!(
        compared >= 2000 && skipped <= 40,
        "{compared} compared, {skipped} skipped"
    );
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
            .map(|container| (container["in"].as_str().unwrap(), container)),
        types,
    );
    let strings = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    let proxy = expected
        .iter()
        .find(|container| container["name"] == "istio-proxy")
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

/// Runs `rewrite` as a filter.
fn rewritten(text: &str, form: &str, release: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["rewrite", "--isolated", "--color", "never", "--form", form];
    arguments.extend(["--assume", "injection=all"]);
    arguments.extend(["--threads", "1", "--mesh-version", release]);
    arguments.extend(more);
    arguments.push("-");
    meshprobe(Path::new("/"), &arguments, text)
}

/// Removes the intended differences of a form from an injected pod. The forms with the opt-out write annotations. In
/// the form `annotation`, the template adds the env, so the order of the env differs.
fn comparable(admitted: &Admitted, form: &str) -> Admitted {
    let Admitted::Injected(pod) = admitted else {
        return admitted.clone();
    };
    let mut pod = pod.clone();
    let written: &[&str] = match form {
        "annotation" => &[OPT_OUT, CONFIG],
        "container" => &[OPT_OUT],
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
            if let Some(env) = env.filter(|_| form == "annotation") {
                env.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    Admitted::Injected(pod)
}

/// Comparison of the webhook's result for a rewritten pod with its result for the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Composed {
    /// Both results are equal.
    Same,
    /// For the original, the webhook appends a second env and loses the first; after the rewrite, no entry is lost.
    Fixed,
}

fn composed(
    before: &[Workload],
    after: &[Workload],
    form: &str,
    mesh: Mesh,
) -> Result<Composed, String> {
    let mut worst = Composed::Same;
    for (before, after) in before.iter().zip(after) {
        let (before, after) = kept::without_kept(before, after, mesh)?;
        let want = comparable(&admit(&before, mesh), form);
        let got = comparable(&admit(&after, mesh), form);
        if got == want {
            continue;
        }
        let (Admitted::Injected(old), Admitted::Injected(new)) = (&want, &got) else {
            return Err(format!("{mesh:?}\ngot {got:#?}\nwant {want:#?}"));
        };
        let is_fixed = !unserved(old).is_empty() && unserved(new).is_empty();
        if prober_envs(old).len() < 2 || prober_envs(new).len() != 1 || !is_fixed {
            return Err(format!("{mesh:?}\ngot {got:#?}\nwant {want:#?}"));
        }
        worst = Composed::Fixed;
    }
    Ok(worst)
}

type Counts = BTreeMap<String, usize>;

fn add(mut counts: Counts, more: Counts) -> Counts {
    for (key, count) in more {
        *counts.entry(key).or_default() += count;
    }
    counts
}

fn class(before: &[Workload], after: &[Workload], run: &Run) -> &'static str {
    match (before == after, run.code) {
        (false, _) => "rewritten",
        (true, 0) => "unchanged",
        (true, _) => "refused",
    }
}

#[test]
fn the_webhook_gives_the_same_result_for_every_rewritten_golden() {
    let counts = cases().par_iter().map(of_case).reduce(Counts::new, add);
    println!("goldens composed with the model, classic and native: {counts:?}");
    for form in FORMS {
        assert!(counts[&format!("{form} rewritten")] >= 1086, "{counts:?}");
        // Pods with a sidecar, up to 1.16: six releases, one case, classic and native.
        assert_eq!(counts[&format!("{form} Fixed")], 12, "{counts:?}");
    }
}

/// The form `annotation` relies on a line of the template that does not escape `proxyMetadata`. If a release changes
/// that line, the comparison must fail for this form, and only for this form.
#[test]
fn a_template_that_escapes_metadata_breaks_only_the_annotation_form() {
    let mesh = Mesh {
        escapes_metadata: true,
        ..Mesh::of("1.31.0")
    };
    for form in FORMS {
        let is_different = |case: &&Case| {
            let Some((release, _)) = case.releases().last() else {
                return false;
            };
            let Rewrite { output, .. } = case.rewrite(form, release);
            case.input != **output && composed(&case.input, output, form, mesh).is_err()
        };
        let different = cases().iter().filter(is_different).count();
        assert_eq!(different > 0, form == "annotation", "{form}: {different}");
    }
}

fn of_case(case: &Case) -> Counts {
    let mut counts = Counts::new();
    for (release, _) in case.releases() {
        for form in FORMS {
            let Rewrite { run, output } = case.rewrite(form, release);
            *counts
                .entry(format!("{form} {}", class(&case.input, output, run)))
                .or_default() += 1;
            for native in [false, true] {
                let mesh = Mesh {
                    native,
                    ..Mesh::of(release)
                };
                match composed(&case.input, output, form, mesh) {
                    Ok(how) => *counts.entry(format!("{form} {how:?}")).or_default() += 1,
                    Err(fault) => panic!("{} {release} {form}: {fault}", case.name),
                }
            }
        }
    }
    counts
}

/// How many random pods are tried; `PROPTEST_CASES` overrides it.
const PODS: u32 = 60;

#[test]
fn the_webhook_gives_the_same_result_for_random_rewritten_pods() {
    let config = proptest::test_runner::Config {
        cases: std::env::var("PROPTEST_CASES").map_or(PODS, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    };
    let counts = std::cell::RefCell::new(Counts::new());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let result = runner.run(&pods::trials(), |trial| {
        let new = of_trial(&trial).map_err(proptest::test_runner::TestCaseError::fail)?;
        let old = counts.take();
        counts.replace(add(old, new));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let counts = counts.take();
    println!("random pods: {counts:?}");
    let count = |key: &str| counts.get(key).copied().unwrap_or_default();
    for form in FORMS {
        let all: usize = ["rewritten", "unchanged", "refused"]
            .iter()
            .map(|class| count(&format!("{form} {class}")))
            .sum();
        // The test proves too little if most pods are refused or unchanged.
        assert!(count(&format!("{form} rewritten")) * 2 > all, "{counts:?}");
        assert!(count(&format!("{form} refused")) > 0, "{counts:?}");
    }
}

fn of_trial(trial: &pods::Trial) -> Result<Counts, String> {
    let mut counts = Counts::new();
    let text = trial.text();
    let before = workloads(&text);
    let release = format!("1.{}", trial.minor);
    let mesh = Mesh {
        native: trial.native,
        status_port: trial.status_port,
        ..Mesh::of(&release)
    };
    let port = format!("status-port={}", trial.status_port);
    let native = format!("native-sidecars={}", trial.native);
    let more = ["--assume", &port, "--override", &native];
    for form in FORMS {
        let run = rewritten(&text, form, &release, &more);
        let failure = |fault: String| {
            format!(
                "{form} {release}: {fault}\n{text}\n{}\n{}",
                run.stdout, run.stderr
            )
        };
        let after = workloads(&run.stdout);
        let class = class(&before, &after, &run);
        *counts.entry(format!("{form} {class}")).or_default() += 1;
        if class == "refused" && run.stdout != text {
            return Err(failure("a refused pod was changed".into()));
        }
        if composed(&before, &after, form, mesh).map_err(failure)? == Composed::Fixed {
            return Err(failure("two envs".into()));
        }
        for again in FORMS {
            let second = rewritten(&run.stdout, again, &release, &more);
            if class == "rewritten" && (second.stdout != run.stdout || second.code != 0) {
                return Err(failure(format!(
                    "{again} after {form}:\n{}{}",
                    second.stdout, second.stderr
                )));
            }
            let has_note = second.stderr.contains("note[form-kept]");
            let is_ours = !trial.has_proxy || form == "annotation" && again == "annotation";
            if class == "rewritten" && is_ours && has_note != (again != form) {
                return Err(failure(format!("{again} after {form}: {}", second.stderr)));
            }
        }
    }
    Ok(counts)
}
