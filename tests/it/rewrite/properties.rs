//! Properties of every rewrite and its undo, checked on random workloads in random layouts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::pods::{self, Written};
use crate::yaml::layouts;
use meshprobe::engine::{self, Rewritten};
use meshprobe::settings::{Form, InjectionAssumption, Settings};
use meshprobe::source::SourceSet;
use meshprobe::yaml::verify::verify;
use meshprobe::yaml::{edit, parse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

const CASES: u32 = 100;
const SLOTS: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const OPT_OUT: &str = "sidecar.istio.io/rewriteAppHTTPProbers";
const CONFIG: &str = "proxy.istio.io/config";
const ENV: &str = "ISTIO_KUBE_APP_PROBERS";

fn settings(form: Form) -> Settings {
    let mut settings = Settings {
        mesh_version: "1.28".parse().ok(),
        form: form.into(),
        ..Settings::default()
    };
    settings.assume.injection = Some(InjectionAssumption::All);
    settings
}

fn set(text: &str) -> SourceSet {
    SourceSet::from_text("web.yaml", text)
}

fn text_of(run: &Rewritten) -> String {
    run.set.file("web.yaml").unwrap().text.to_string()
}

fn guards(run: &Rewritten) -> Vec<&'static str> {
    let errors = run
        .findings
        .iter()
        .filter(|finding| finding.severity == meshprobe::finding::Severity::Error);
    errors.map(|finding| finding.rule.as_str()).collect()
}

/// Returns the value that another parser reads from the document, with merge keys applied.
fn value(text: &str) -> Value {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut value: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
    value.apply_merge().unwrap();
    serde_json::to_value(value).unwrap()
}

fn containers(value: &mut Value) -> Vec<&mut Map<String, Value>> {
    let spec = value.pointer_mut("/spec/template/spec").unwrap();
    let spec = spec.as_object_mut().unwrap();
    let lists = spec
        .iter_mut()
        .filter(|(key, _)| *key == "containers" || *key == "initContainers");
    lists
        .flat_map(|(_, list)| list.as_array_mut().unwrap())
        .map(|container| container.as_object_mut().unwrap())
        .collect()
}

/// Resolves the port, and fills in the defaults of the API server.
fn normal_handler(handler: &mut Map<String, Value>) {
    for kind in ["httpGet", "tcpSocket", "grpc"] {
        let Some(action) = handler.get_mut(kind).and_then(Value::as_object_mut) else {
            continue;
        };
        if action.get("port") == Some(&json!("http")) {
            action.insert("port".into(), json!(8080));
        }
        if kind == "httpGet" {
            action.entry("path").or_insert(json!("/"));
            action.entry("scheme").or_insert(json!("HTTP"));
            action.entry("httpHeaders").or_insert(json!([]));
        }
        if kind == "grpc" {
            action.entry("service").or_insert(json!(""));
        }
    }
}

/// Returns the document as the API server would store it, without empty values.
fn normal(text: &str) -> Value {
    let mut value = value(text);
    for container in containers(&mut value) {
        for slot in SLOTS {
            match container.get_mut(slot) {
                Some(Value::Object(probe)) => {
                    probe.entry("timeoutSeconds").or_insert(json!(1));
                    normal_handler(probe);
                }
                Some(_) => drop(container.remove(slot)),
                None => {}
            }
        }
        let hook = container.get_mut("lifecycle");
        if let Some(hook) = hook.and_then(|hooks| hooks.get_mut("preStop")) {
            normal_handler(hook.as_object_mut().unwrap());
        }
    }
    let template = value.pointer_mut("/spec/template").unwrap();
    let template = template.as_object_mut().unwrap();
    let is_empty = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.trim().is_empty(),
        other => other.is_null(),
    };
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            if let Some(config) = annotations.get_mut(CONFIG) {
                let read: Value = serde_yaml::from_str(config.as_str().unwrap()).unwrap();
                *config = read;
            }
            annotations.retain(|key, value| key != CONFIG || !is_empty(value));
            // The mesh rewrites by default, so the annotation has no effect.
            if annotations.get(OPT_OUT) == Some(&json!("true")) {
                annotations.remove(OPT_OUT);
            }
        }
        metadata.retain(|_, value| !is_empty(value));
    }
    if template.get("metadata").is_some_and(is_empty) {
        template.remove("metadata");
    }
    value
}

/// Returns the entries that the sidecar will receive. The form `annotation` contains the value as the template puts
/// it between double quotes; a partial sidecar contains it unchanged.
fn probers(value: &mut Value, form: Form) -> BTreeMap<String, Value> {
    let env = match form {
        Form::Annotation => annotation_env(value),
        Form::Container | Form::ContainerOnly => container_env(value),
    };
    serde_json::from_str(&env).unwrap()
}

fn annotation_env(value: &Value) -> String {
    let config = format!(
        "/spec/template/metadata/annotations/{}",
        CONFIG.replace('/', "~1")
    );
    let config = value.pointer(&config).unwrap().as_str().unwrap();
    let config: Value = serde_yaml::from_str(config).unwrap();
    let escaped = config["proxyMetadata"][ENV].as_str().unwrap();
    serde_yaml::from_str(&format!("\"{escaped}\"")).unwrap()
}

/// Removes the partial sidecar, which is the last container, from the pod, and returns its env.
fn container_env(value: &mut Value) -> String {
    let list = value.pointer_mut("/spec/template/spec/containers").unwrap();
    let proxy = list.as_array_mut().unwrap().pop().unwrap();
    assert_eq!(proxy["name"], "istio-proxy");
    assert_eq!(proxy["image"], "auto");
    assert_eq!(proxy["env"].as_array().unwrap().len(), 1);
    assert_eq!(proxy["env"][0]["name"], ENV);
    proxy["env"][0]["value"].as_str().unwrap().to_owned()
}

/// Checks that every network handler targets the agent, that its entry equals the handler as the API server stores
/// it, and that the rest of the document is unchanged.
fn check_intended(before: &str, after: &str, form: Form) -> Result<(), TestCaseError> {
    let (mut old, mut plain) = (normal(before), normal(after));
    let mut written = value(after);
    let annotations = written.pointer("/spec/template/metadata/annotations");
    let opt_out = annotations.and_then(|annotations| annotations.get(OPT_OUT));
    let is_off = opt_out.and_then(Value::as_str) == Some("false");
    prop_assert_eq!(is_off, form != Form::ContainerOnly);
    let mut entries = match form {
        Form::Annotation => probers(&mut written, form),
        Form::Container | Form::ContainerOnly => probers(&mut plain, form),
    };
    let (olds, news) = (containers(&mut old), containers(&mut plain));
    prop_assert_eq!(olds.len(), news.len());
    for (old, new) in olds.into_iter().zip(news) {
        let name = old["name"].as_str().unwrap().to_owned();
        for (slot, word) in SLOTS.iter().zip(["livez", "readyz", "startupz"]) {
            if let (Some(old), Some(new)) = (old.get_mut(*slot), new.get_mut(*slot)) {
                check_handler(
                    old,
                    new,
                    &mut entries,
                    &format!("/app-health/{name}/{word}"),
                )?;
            }
        }
        let hooks = old.get_mut("lifecycle").zip(new.get_mut("lifecycle"));
        if let Some((old, new)) = hooks {
            let path = format!("/app-lifecycle/{name}/prestopz");
            check_handler(
                &mut old["preStop"],
                &mut new["preStop"],
                &mut entries,
                &path,
            )?;
        }
    }
    prop_assert!(entries.is_empty(), "entries without a handler: {entries:?}");
    for value in [&mut old, &mut plain] {
        value
            .pointer_mut("/spec/template")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("metadata");
    }
    prop_assert_eq!(old, plain);
    Ok(())
}

/// Checks one handler, and removes it from both documents.
fn check_handler(
    old: &mut Value,
    new: &mut Value,
    entries: &mut BTreeMap<String, Value>,
    path: &str,
) -> Result<(), TestCaseError> {
    let (old, new) = (old.as_object_mut().unwrap(), new.as_object_mut().unwrap());
    let kinds = ["httpGet", "tcpSocket", "grpc"];
    let Some(kind) = kinds.into_iter().find(|kind| old.contains_key(*kind)) else {
        return Ok(());
    };
    let mut was = old.remove(kind).unwrap();
    let now = new.remove("httpGet").unwrap();
    prop_assert_eq!(&now["path"], path);
    prop_assert_eq!(&now["port"], &json!(15020));
    prop_assert_eq!(&now["scheme"], "HTTP");
    let mut entry = entries.remove(path).unwrap();
    let timeout = entry.as_object_mut().unwrap().remove("timeoutSeconds");
    prop_assert_eq!(timeout, old.get("timeoutSeconds").cloned());
    if was["httpHeaders"] == json!([]) {
        was.as_object_mut().unwrap().remove("httpHeaders");
    }
    prop_assert_eq!(entry, json!({ kind: was }));
    Ok(())
}

/// Counts the comments, each of which has a unique number.
fn comments(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for part in text.split("# c").skip(1) {
        if let Some((number, _)) = part.split_once('.') {
            *counts.entry(number).or_insert(0) += 1;
        }
    }
    counts
}

/// Checks that no comment is lost. A shared node is copied with its comments to a place where it changes.
fn same_comments(before: &str, after: &str) -> Result<(), TestCaseError> {
    let (old, new) = (comments(before), comments(after));
    let shares = before.contains("&n");
    let same = if shares {
        old.keys().eq(new.keys()) && old.iter().all(|(key, count)| new[key] >= *count)
    } else {
        old == new
    };
    prop_assert!(same, "comments\n--- before\n{before}\n--- after\n{after}");
    Ok(())
}

/// Checks that the new text is the old one with the edits of the changes, and that another parser confirms it.
fn only_edits(before: &str, run: &Rewritten) -> Result<(), TestCaseError> {
    let files = set(before);
    let document = files.files[0]
        .documents
        .iter()
        .find(|document| document.tree().is_some())
        .unwrap();
    let tree = document.tree().unwrap();
    let edits = edit::apply(tree, &run.changes).unwrap();
    prop_assert_eq!(edit::splice(before, &edits), text_of(run));
    let start = tree.segment().start;
    let after = text_of(run);
    let confirmed = verify(&before[start..], &run.changes, &after[start..]);
    prop_assert!(confirmed.is_ok(), "{confirmed:?}");
    prop_assert!(
        parse(
            &after.as_str().into(),
            meshprobe::yaml::Span::new(0, after.len())
        )
        .is_ok()
    );
    Ok(())
}

#[derive(Debug, Default)]
struct Counts {
    cases: u32,
    nothing: u32,
    refused: BTreeMap<&'static str, u32>,
    rewritten: u32,
    identical: u32,
    undo_refused: BTreeMap<&'static str, u32>,
}

fn check(text: &str, form: Form, counts: &mut Counts) -> Result<(), TestCaseError> {
    counts.cases += 1;
    let settings = settings(form);
    let rewritten = engine::rewrite(&set(text), &settings);
    for guard in guards(&rewritten) {
        *counts.refused.entry(guard).or_default() += 1;
    }
    let after = text_of(&rewritten);
    if after == text {
        counts.nothing += u32::from(guards(&rewritten).is_empty());
        return Ok(());
    }
    counts.rewritten += 1;
    only_edits(text, &rewritten)?;
    same_comments(text, &after)?;
    check_intended(text, &after, form)?;
    let again = engine::rewrite(&set(&after), &settings);
    prop_assert_eq!(
        text_of(&again),
        &*after,
        "a second rewrite changes something"
    );

    // The undo does not depend on facts about the mesh.
    let undone = engine::undo(&set(&after), &Settings::default());
    for guard in guards(&undone) {
        *counts.undo_refused.entry(guard).or_default() += 1;
    }
    let back = text_of(&undone);
    if !guards(&undone).is_empty() {
        prop_assert_eq!(back, after, "a refused pod was changed");
        return Ok(());
    }
    only_edits(&after, &undone)?;
    same_comments(text, &back)?;
    prop_assert_eq!(normal(&back), normal(text));
    let nothing = engine::undo(&set(&back), &Settings::default());
    prop_assert_eq!(text_of(&nothing), &*back, "a second undo changes something");
    counts.identical += u32::from(back == text);
    Ok(())
}

/// The maximum number of samples until the floors of [`Counts`] hold. With the present generators, one sample in 30
/// misses a floor by chance; ten in a row do not.
const MAX_SAMPLES: u32 = 10;

/// Checks samples of random workloads until `is_enough` holds for all of them together.
fn try_all(written: Written, form: Form, is_enough: impl Fn(&Counts) -> bool) {
    let counts = RefCell::new(Counts::default());
    let cases = std::env::var("PROPTEST_CASES").ok();
    let config = Config {
        cases: cases.and_then(|cases| cases.parse().ok()).unwrap_or(CASES),
        failure_persistence: None,
        ..Config::default()
    };
    let texts = (pods::deployments(written), layouts::layout())
        .prop_map(|(entries, layout)| layouts::print(&entries, &layout));
    let mut runner = TestRunner::new(config.clone());
    for _ in 0..MAX_SAMPLES {
        let outcome = runner.run(&texts, |text| {
            check(&text, form, &mut counts.borrow_mut())
                .map_err(|error| TestCaseError::fail(format!("{error}\n--- document\n{text}")))
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
        if is_enough(&counts.borrow()) {
            break;
        }
        let rng = runner.new_rng();
        runner = TestRunner::new_with_rng(config.clone(), rng);
    }
    let counts = counts.into_inner();
    println!("{written:?}, {form:?}: {counts:?}");
    // The test proves too little if few pods are rewritten.
    assert!(counts.rewritten * 2 >= counts.cases, "{counts:?}");
    assert!(counts.undo_refused.is_empty(), "{counts:?}");
    assert!(is_enough(&counts), "{form:?}: {counts:?}");
}

#[test]
fn a_rewrite_makes_only_the_intended_changes_and_can_be_undone() {
    for form in Form::ALL {
        try_all(Written::Freely, form, |counts| {
            counts.identical * 20 >= counts.rewritten
        });
    }
}

#[test]
fn an_undo_restores_recorded_probes_byte_for_byte() {
    for form in Form::ALL {
        // A partial sidecar after the last line of a file adds a line break to that line.
        let least = if form == Form::Annotation { 90 } else { 75 };
        try_all(Written::AsRecorded, form, |counts| {
            counts.identical * 100 >= counts.rewritten * least
        });
    }
}
