//! Rewriting a tree and building it gives what building it and rewriting that gives, or the rewrite is
//! refused; tried on random overlays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::random_tree::{Builder, Files, tree};
use crate::support::{kustomize, meshprobe};
use meshprobe::context::render::{Rendering, render};
use meshprobe::engine;
use meshprobe::finding::{Finding, Severity};
use meshprobe::kube::{Object, ObjectId};
use meshprobe::settings::{Form, Settings};
use meshprobe::source::{SourceFile, SourceSet};
use meshprobe::yaml::from_node;
use serde::Deserialize as _;
use serde_json::Value;

const TREES: u64 = 120;
/// To build a tree with the real kustomize takes a process for each overlay.
const BUILT_TREES: u64 = 12;

fn settings(form: Form) -> Settings {
    Settings {
        mesh_version: "1.28".parse().ok(),
        form,
        ..Settings::default()
    }
}

fn set(files: &Files) -> SourceSet {
    let file = |(path, text): (&String, &String)| {
        SourceFile::new(path.as_str().into(), text.as_str().into())
    };
    SourceSet::new(files.iter().map(file).collect())
}

/// Containers by name: a stub is last in its own list, and an overlay may put others behind it.
fn normal(mut value: Value) -> Value {
    let pointers = [
        "/spec/containers",
        "/spec/template/spec/containers",
        "/spec/jobTemplate/spec/template/spec/containers",
    ];
    for pointer in pointers {
        if let Some(Value::Array(list)) = value.pointer_mut(pointer) {
            list.sort_by_key(|one| one["name"].as_str().unwrap_or_default().to_owned());
        }
    }
    value
}

fn objects(set: &SourceSet) -> BTreeMap<ObjectId, Value> {
    let documents = set.files.iter().flat_map(|file| &file.documents);
    let objects = documents.flat_map(Object::all_in);
    objects
        .map(|object| (object.id(), from_node(object.node).unwrap()))
        .collect()
}

/// What a rendering comes to, with the object that each part was written as.
fn built(rendering: &Rendering) -> Vec<(ObjectId, Value)> {
    let objects = rendering.objects();
    objects
        .map(|object| (object.id(), normal(from_node(object.node).unwrap())))
        .collect()
}

/// The text that a build would print.
fn stream(rendering: &Rendering) -> String {
    let documents = rendering.documents.iter().map(|one| {
        let tree = one.document.tree().unwrap();
        one.document.segment.slice(tree.text()).to_owned()
    });
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn values(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    let values = documents.map(|one| {
        let mut value = serde_yaml::Value::deserialize(one).unwrap();
        value.apply_merge().unwrap();
        normal(serde_json::to_value(value).unwrap())
    });
    values.filter(|value| !value.is_null()).collect()
}

fn rewritten_stream(text: &str, form: Form) -> Vec<Value> {
    let run = engine::rewrite(&SourceSet::from_text("build.yaml", text), &settings(form));
    values(&run.set.file("build.yaml").unwrap().text)
}

fn is_refused(findings: &[Finding], object: &Value) -> bool {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let refusals = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let mut objects = refusals.filter_map(|one| one.object.as_ref());
    objects.any(|one| Some(one.name.as_str()) == name)
}

#[derive(Debug, Default)]
struct Count {
    written: usize,
    refused: usize,
    left: usize,
}

fn explained(seed: u64, files: &Files, what: &str) -> String {
    let files = files.iter();
    let text: String = files
        .map(|(path, text)| format!("# {path}\n{text}\n"))
        .collect();
    format!("seed {seed}: {what}\n{text}")
}

fn holds(seed: u64, form: Form, count: &mut Count) {
    let files = tree(seed, Builder::InProcess);
    let before = set(&files);
    let run = engine::rewrite(&before, &settings(form));
    let (own, edited) = (objects(&before), objects(&run.set));
    let after: Vec<Vec<(ObjectId, Value)>> = render(&run.set).iter().map(built).collect();
    let renderings = render(&before);
    assert_eq!(renderings.len(), after.len(), "seed {seed}");
    for (rendering, after) in renderings.iter().zip(&after) {
        let pairs = built(rendering);
        let rewritten = rewritten_stream(&stream(rendering), form);
        assert_eq!(pairs.len(), rewritten.len(), "seed {seed}");
        assert_eq!(pairs.len(), after.len(), "seed {seed}");
        for (((id, old), (_, new)), wanted) in pairs.iter().zip(after).zip(&rewritten) {
            let what = || {
                let show = |value| serde_json::to_string_pretty(value).unwrap();
                let messages: Vec<&str> = run
                    .findings
                    .iter()
                    .map(|one| one.message.as_str())
                    .collect();
                let home = rendering.home();
                format!(
                    "{home}\nbuilt after the rewrite: {}\nrewritten after the build: {}\n{messages:#?}",
                    show(new),
                    show(wanted)
                )
            };
            let (own, edited) = (&own[id], &edited[id]);
            if own != edited {
                count.written += 1;
                assert!(new == wanted, "{}", explained(seed, &files, &what()));
            } else if wanted == old {
                count.left += 1;
            } else {
                count.refused += 1;
                let is_refused = is_refused(&run.findings, own);
                assert!(is_refused, "{}", explained(seed, &files, &what()));
            }
        }
    }
}

#[test]
fn rewriting_and_building_change_places() {
    let mut count = Count::default();
    for seed in 0..TREES {
        for form in [Form::Sealed, Form::Stub] {
            holds(seed, form, &mut count);
        }
    }
    println!("{TREES} trees, two forms: {count:?}");
    assert!(count.written > 100 && count.refused > 100, "{count:?}");
}

fn build(kustomize: &Path, folder: &Path) -> Option<String> {
    let output = Command::new(kustomize)
        .arg("build")
        .arg(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(text)
}

/// What each root builds; `None` where kustomize refuses one of them.
fn builds(kustomize: &Path, tree: &Path) -> Option<Vec<String>> {
    let roots = ["all", "one", "two"].into_iter();
    let roots = roots.map(|root| tree.join(root));
    let roots = roots.filter(|root| root.is_dir());
    roots.map(|root| build(kustomize, &root)).collect()
}

/// A label that no overlay changes tells which object of the base this is.
fn piece(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels/piece")?.as_str()
}

#[test]
fn rewriting_and_building_with_kustomize_change_places() {
    let Some(kustomize) = kustomize() else { return };
    let mut count = Count::default();
    let (mut seed, mut trees) = (10_000, 0);
    while trees < BUILT_TREES {
        seed += 1;
        let files = tree(seed, Builder::Kustomize);
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in &files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let Some(before) = builds(&kustomize, folder.path()) else {
            continue;
        };
        trees += 1;
        let options = ["rewrite", "--isolated", "--mesh-version", "1.28"];
        let own = values(&files["base/app.yaml"]);
        let run = meshprobe(
            folder.path(),
            &[&options[..], &["--write", "."]].concat(),
            "",
        );
        let edited = std::fs::read_to_string(folder.path().join("base/app.yaml")).unwrap();
        let edited = values(&edited);
        let changed: BTreeSet<String> = pieces(&own)
            .iter()
            .zip(pieces(&edited))
            .filter(|(own, edited)| **own != *edited)
            .filter_map(|(own, _)| piece(own).map(str::to_owned))
            .collect();
        let after = builds(&kustomize, folder.path());
        let title = |what: &str| explained(seed, &files, &format!("{what}\n{}", run.stderr));
        let after = after.unwrap_or_else(|| panic!("{}", title("builds no longer")));
        for (before, after) in before.iter().zip(&after) {
            let piped = meshprobe(folder.path(), &[&options[..], &["-"]].concat(), before);
            let (old, new) = (values(before), values(after));
            let wanted = values(&piped.stdout);
            assert_eq!(old.len(), new.len(), "{}", title("objects"));
            for ((old, new), wanted) in old.iter().zip(&new).zip(&wanted) {
                let is_changed = piece(old).is_some_and(|piece| changed.contains(piece));
                if is_changed || new != old {
                    count.written += 1;
                    let show = |value| serde_json::to_string_pretty(value).unwrap();
                    let what = || {
                        format!(
                            "built after the rewrite: {}\nrewritten after the build: {}",
                            show(new),
                            show(wanted)
                        )
                    };
                    assert!(new == wanted, "{}", title(&what()));
                } else if wanted == old {
                    count.left += 1;
                } else {
                    count.refused += 1;
                    assert_eq!(run.code, 1, "{}", title("not refused"));
                }
            }
        }
    }
    println!("{trees} trees built by kustomize: {count:?}");
    assert!(count.written > 0 && count.refused > 0, "{count:?}");
}

/// The objects of a file: those of its documents, or the items of its list.
fn pieces(documents: &[Value]) -> Vec<Value> {
    let items = |one: &Value| match &one["items"] {
        Value::Array(items) => items.iter().cloned().map(normal).collect(),
        _ => vec![one.clone()],
    };
    documents.iter().flat_map(items).collect()
}
