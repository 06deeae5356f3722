//! What `rewrite` writes against what Istio's own injector made, release by release.
//!
//! The comparison is that of `fixtures/istio/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::{Value, json};
use support::{Run, meshprobe};

const SLOTS: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HANDLERS: [&str; 5] = ["httpGet", "tcpSocket", "grpc", "exec", "sleep"];
const ENV: &str = "ISTIO_KUBE_APP_PROBERS";

/// What the Kubernetes types of a release know: grpc from 1.13 on, sleep from 1.22 on.
#[derive(Clone, Copy)]
struct Types {
    minor: u32,
}

impl Types {
    fn of(release: &str) -> Self {
        Self {
            minor: release.split('.').nth(1).unwrap().parse().unwrap(),
        }
    }

    fn lacks(self, handler: &str) -> bool {
        (handler == "grpc" && self.minor < 13) || (handler == "sleep" && self.minor < 22)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Equal,
    LeftAlone,
    Refused,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/istio")
}

/// Rows of `permitted.csv`: case, form, releases, class, guard.
fn permitted() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("permitted.csv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

fn permits(
    rows: &[Vec<String>],
    case: &str,
    release: &str,
    class: Class,
    guards: &[String],
) -> bool {
    rows.iter().any(|row| {
        let [name, form, releases, kind, guard, ..] = row.as_slice() else {
            return false;
        };
        let applies = name == case
            && (form == "*" || form == "sealed")
            && (releases == "*" || releases.split(' ').any(|one| one == release));
        let same = match class {
            Class::Refused => kind.starts_with("refused") && guards.contains(guard),
            Class::LeftAlone => kind.starts_with("left alone"),
            Class::Equal => kind.starts_with("equal") || kind.contains(" or as "),
        };
        applies && same
    })
}

/// The pod templates of a stream, Lists expanded, in order, with what holds them.
fn pods(text: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let mut value = serde_yaml::Value::deserialize(document).unwrap();
        value.apply_merge().unwrap();
        let value = serde_json::to_value(value).unwrap();
        match value.get("items") {
            Some(items) => objects.extend(items.as_array().unwrap().clone()),
            None => objects.push(value),
        }
    }
    objects.iter().filter_map(template).collect()
}

fn template(object: &Value) -> Option<Value> {
    let pointer = match object.get("kind")?.as_str()? {
        "Pod" => "",
        "PodTemplate" => "/template",
        "CronJob" => "/spec/jobTemplate/spec/template",
        _ => "/spec/template",
    };
    let found = object.pointer(pointer)?;
    found.pointer("/spec/containers")?;
    Some(found.clone())
}

/// The API server drops what is null.
fn without_nulls(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !value.is_null());
        map.values_mut().for_each(without_nulls);
    }
}

/// The API server's defaults for a probe or hook.
fn defaulted(handler: &Value, is_probe: bool) -> Value {
    let mut out = handler.clone();
    without_nulls(&mut out);
    let map = out.as_object_mut().unwrap();
    // Old releases lack the field in their types.
    map.remove("terminationGracePeriodSeconds");
    if is_probe {
        for (name, value) in [
            ("timeoutSeconds", 1),
            ("periodSeconds", 10),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        ] {
            let entry = map.entry(name).or_insert(json!(value));
            if entry == &json!(0) {
                *entry = json!(value);
            }
        }
        if map.get("initialDelaySeconds") == Some(&json!(0)) {
            map.remove("initialDelaySeconds");
        }
    }
    if let Some(http) = map.get_mut("httpGet").and_then(Value::as_object_mut) {
        for (name, value) in [("path", "/"), ("scheme", "HTTP")] {
            let entry = http.entry(name).or_insert(json!(value));
            if entry.is_null() || entry == "" {
                *entry = json!(value);
            }
        }
        if http
            .get("httpHeaders")
            .is_some_and(|headers| headers.as_array().is_none_or(Vec::is_empty))
        {
            http.remove("httpHeaders");
        }
    }
    if let Some(grpc) = map.get_mut("grpc").and_then(Value::as_object_mut) {
        grpc.entry("service").or_insert(json!(""));
    }
    out
}

/// The handlers of the application containers: `list/name/slot` to the defaulted handler.
fn handlers(containers: &[(String, Value)], types: Types) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (list, container) in containers {
        let name = container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name == "istio-proxy" || name == "istio-init" {
            continue;
        }
        let mut add = |slot: &str, handler: Option<&Value>, is_probe: bool| {
            let Some(handler) = handler.filter(|handler| handler.is_object()) else {
                return;
            };
            let mut handler = handler.clone();
            let map = handler.as_object_mut().unwrap();
            // Releases read manifests with types that may lack these handlers.
            map.retain(|key, _| !types.lacks(key));
            if map.keys().any(|key| HANDLERS.contains(&key.as_str())) {
                found.insert(
                    format!("{list}/{name}/{slot}"),
                    defaulted(&handler, is_probe),
                );
            }
        };
        for slot in SLOTS {
            add(slot, container.get(slot), true);
        }
        for slot in ["postStart", "preStop"] {
            add(
                slot,
                container.pointer(&format!("/lifecycle/{slot}")),
                false,
            );
        }
    }
    found
}

fn containers_of(template: &Value) -> Vec<(String, Value)> {
    let lists = ["initContainers", "containers"];
    lists
        .iter()
        .flat_map(|list| {
            let items = template
                .pointer(&format!("/spec/{list}"))
                .and_then(Value::as_array);
            items
                .into_iter()
                .flatten()
                .map(|item| ((*list).to_owned(), item.clone()))
        })
        .collect()
}

/// The prober env that the sidecar will have, from either carrier.
fn prober_env(template: &Value) -> Option<String> {
    let containers = containers_of(template);
    let proxy = containers
        .iter()
        .find(|(_, container)| container["name"] == "istio-proxy");
    if let Some((_, proxy)) = proxy {
        let env = proxy
            .get("env")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let last = env.iter().rfind(|entry| entry["name"] == ENV);
        if let Some(last) = last {
            return last["value"].as_str().map(str::to_owned);
        }
    }
    let annotation = template
        .pointer("/metadata/annotations/proxy.istio.io~1config")?
        .as_str()?;
    let config: Value = serde_yaml::from_str(annotation).unwrap();
    let escaped = config.pointer(&format!("/proxyMetadata/{ENV}"))?.as_str()?;
    Some(serde_yaml::from_str(&format!("\"{escaped}\"")).unwrap())
}

fn names(containers: &[(String, Value)]) -> Vec<String> {
    let names = containers.iter().filter(|(list, _)| list == "containers");
    let names =
        names.map(|(_, container)| container["name"].as_str().unwrap_or_default().to_owned());
    names.filter(|name| name != "istio-proxy").collect()
}

/// Words in brackets behind a severity: the guards that refused.
fn guards(run: &Run) -> Vec<String> {
    run.stderr
        .split("error[")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()))
        .collect()
}

fn compare(release: &str, before: &[Value], run: &Run, admitted: &[Value]) -> Vec<(Class, String)> {
    let after = pods(&run.stdout);
    assert_eq!(before.len(), after.len(), "{release}: pods are missing");
    let types = Types::of(release);
    let mut classes = Vec::new();
    for ((before, after), golden) in before.iter().zip(&after).zip(admitted) {
        let unchanged = before == after;
        if golden.get("error").is_some() || golden.get("skipped").is_some() {
            // Where the injector fails, a diagnostic is welcome.
            let silent = run.status == 0 || golden.get("error").is_some();
            let class = match (unchanged, silent) {
                (true, true) => Class::LeftAlone,
                (true, false) => Class::Refused,
                (false, _) => Class::Equal,
            };
            let fault = if unchanged {
                ""
            } else {
                "changed though the injector does not"
            };
            classes.push((class, fault.to_owned()));
            continue;
        }
        let expected: Vec<(String, Value)> = golden["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|container| {
                (
                    container["in"].as_str().unwrap().to_owned(),
                    container.clone(),
                )
            })
            .collect();
        let want = handlers(&expected, types);
        let got = handlers(&containers_of(after), types);
        let env_want = golden[ENV].as_str().map(str::to_owned);
        let env_got = prober_env(after);
        let order_want: Vec<String> = golden["containerOrder"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .filter(|name| name != "istio-proxy")
            .collect();
        let equal =
            want == got && env_want == env_got && order_want == names(&containers_of(after));
        let fault = format!(
            "handlers want {want:#?}\n got {got:#?}\nenv want {env_want:?}\n got {env_got:?}\norder {order_want:?}\n{}",
            run.stderr
        );
        classes.push(match (equal, unchanged) {
            (true, true) => (Class::LeftAlone, String::new()),
            (true, false) => (Class::Equal, String::new()),
            (false, true) if run.status == 1 => (Class::Refused, String::new()),
            (false, true) => (Class::LeftAlone, fault),
            (false, _) => (Class::Equal, fault),
        });
    }
    classes
}

/// Compares, and applies what `permitted.csv` permits.
fn judge(
    rows: &[Vec<String>],
    case: &str,
    release: &str,
    before: &[Value],
    run: &Run,
    group: &Value,
    golden: &Value,
) -> Vec<(Class, String)> {
    let admitted = |group: &Value| group["admitted"].as_array().unwrap().clone();
    let guards = guards(run);
    let mut judged = compare(release, before, run, &admitted(group));
    for (class, fault) in &mut judged {
        if *class == Class::Refused {
            if permits(rows, case, release, *class, &guards) {
                fault.clear();
            } else {
                *fault = format!("refused by {guards:?}\n{}", run.stderr);
            }
        } else if *class == Class::LeftAlone && permits(rows, case, release, *class, &guards) {
            fault.clear();
        }
    }
    let as_later = permits(rows, case, release, Class::Equal, &guards);
    if as_later && judged.iter().any(|(_, fault)| !fault.is_empty()) {
        let later = golden.as_array().unwrap().iter().find(|group| {
            group["versions"]
                .as_array()
                .unwrap()
                .iter()
                .any(|release| release == "1.17.8")
        });
        judged = compare("1.17.8", before, run, &admitted(later.unwrap()));
    }
    judged
}

#[test]
fn sealed_equals_the_injector_of_every_release() {
    let rows = permitted();
    let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut cases: Vec<PathBuf> = fs::read_dir(root().join("rewrite"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    for folder in &cases {
        let case = folder.file_name().unwrap().to_string_lossy().into_owned();
        let input = fs::read_to_string(folder.join("input.yaml")).unwrap();
        let before = pods(&input);
        let golden: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap())
                .unwrap();
        for group in golden.as_array().unwrap() {
            for release in group["versions"].as_array().unwrap() {
                let release = release.as_str().unwrap();
                let run = meshprobe(
                    folder,
                    &[
                        "rewrite",
                        "--isolated",
                        "--color",
                        "never",
                        "--assume",
                        "injection=all",
                        "--mesh-version",
                        release,
                        "input.yaml",
                    ],
                    "",
                );
                for (class, fault) in judge(&rows, &case, release, &before, &run, group, &golden) {
                    if !fault.is_empty() {
                        faults.push(format!("{case} {release}: {class:?}\n{fault}"));
                    }
                    *counts.entry(class).or_default() += 1;
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults of {counts:?}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    let equal = counts.get(&Class::Equal).copied().unwrap_or_default();
    println!("classes of {} cases: {counts:?}", cases.len());
    // The number may only grow.
    assert!(equal >= 1140, "{counts:?}");
    assert!(cases.len() >= 115, "{} cases", cases.len());
}

#[test]
fn the_env_survives_the_annotation() {
    use meshprobe::mesh::istio::proxy_config::{escape, unescape};
    let text = fs::read_to_string(root().join("escape.csv")).unwrap();
    let rows = csv_rows(&text);
    assert_eq!(rows.len(), 68);
    for row in rows {
        let [json, value] = row.as_slice() else {
            panic!("{row:?}")
        };
        assert_eq!(
            &unescape(value).unwrap(),
            json,
            "as the real injector read it"
        );
        // The template pastes the value between double quotes; libyaml's line reads the result.
        let pasted: String = serde_yaml::from_str(&format!("\"{}\"", escape(json))).unwrap();
        assert_eq!(&pasted, json);
    }
}

/// Reads two-column CSV with quoted cells that may hold line breaks; the heads are dropped.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows.drain(1..).collect()
}
