//! Rewriting and building commute: a tree that is rewritten and then built gives the same objects as one that is
//! built and then rewritten, or the rewrite is refused. The tests use random overlays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::random_tree::{Builder, Files, tree};
use crate::support::rendered_text::stream;
use crate::support::{kustomize, meshprobe};
use meshprobe::engine;
use meshprobe::finding::{Finding, Severity};
use meshprobe::gitops::render;
use meshprobe::kube::{Object, ObjectId};
use meshprobe::kustomize::Rendering;
use meshprobe::settings::{Form, Settings};
use meshprobe::source::{SourceFile, SourceSet, is_kustomization};
use meshprobe::yaml::from_node;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Deserialize as _;
use serde_json::Value;
use tempfile::TempDir;

/// Number of trees that are rendered in process; `MESHPROBE_OVERLAY_TREES` overrides it.
const TREES: u64 = 60;
/// Number of trees for each tree that the real kustomize builds, which takes a process for each overlay.
const TREES_PER_BUILT: u64 = 8;

fn trees() -> u64 {
    let number = std::env::var("MESHPROBE_OVERLAY_TREES");
    number.map_or(TREES, |number| number.parse().unwrap())
}

fn settings(form: Form) -> Settings {
    Settings {
        mesh_version: "1.28".parse().ok(),
        form: form.into(),
        ..Settings::default()
    }
}

fn set(files: &Files) -> SourceSet {
    let file = |(path, text): (&String, &String)| {
        SourceFile::new(path.as_str().into(), text.as_str().into())
    };
    SourceSet::new(files.iter().map(file).collect())
}

/// Sorts containers by name, because a partial container is last in its own list, and an overlay may append others.
fn normal(mut value: Value) -> Value {
    let pointers = [
        "/spec/containers",
        "/spec/template/spec/containers",
        "/spec/jobTemplate/spec/template/spec/containers",
    ];
    for pointer in pointers {
        if let Some(Value::Array(list)) = value.pointer_mut(pointer) {
            list.sort_by_key(|container| container["name"].as_str().unwrap_or_default().to_owned());
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

/// Returns the objects of a rendering, each with the id of the object in the files.
fn built(rendering: &Rendering) -> Vec<(ObjectId, Value)> {
    let objects = rendering.objects();
    objects
        .filter(|object| !is_kustomization(object.path()))
        .map(|object| (object.id(), normal(from_node(object.node).unwrap())))
        .collect()
}

/// Returns the text that a build would print.
fn built_text(rendering: &Rendering) -> String {
    stream(rendering, |rendered| {
        !is_kustomization(&rendered.document.path)
    })
}

fn values(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    let values = documents.map(|document| {
        let mut value = serde_yaml::Value::deserialize(document).unwrap();
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
        .filter(|finding| finding.severity == Severity::Error);
    let mut objects = refusals.filter_map(|finding| finding.object.as_ref());
    objects.any(|object| Some(object.name.as_str()) == name)
}

/// Counts of the objects of overlays, by their outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    overlays: usize,
    rewritten: usize,
    refused: usize,
    /// There is nothing to rewrite, before the build or after it.
    unchanged: usize,
    differences: usize,
}

impl Count {
    fn and(self, other: Self) -> Self {
        Self {
            overlays: self.overlays + other.overlays,
            rewritten: self.rewritten + other.rewritten,
            refused: self.refused + other.refused,
            unchanged: self.unchanged + other.unchanged,
            differences: self.differences + other.differences,
        }
    }
}

/// Returns the text of a failure: the problem and the files of the tree.
fn explained(seed: u64, files: &Files, what: &str) -> String {
    let files = files.iter();
    let text: String = files
        .map(|(path, text)| format!("# {path}\n{text}\n"))
        .collect();
    format!("seed {seed}: {what}\n{text}")
}

fn show(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn both(rewritten_first: &Value, built_first: &Value) -> String {
    format!(
        "rewritten, then built: {}\nbuilt, then rewritten: {}",
        show(rewritten_first),
        show(built_first)
    )
}

/// The objects of a tree before and after the rewrite, and the findings of the rewrite.
struct Rewritten {
    findings: Vec<Finding>,
    own: BTreeMap<ObjectId, Value>,
    edited: BTreeMap<ObjectId, Value>,
}

impl Rewritten {
    /// Counts one object of an overlay: `old` is built from the original files, `new` from the rewritten files, and
    /// `wanted` is the rewrite of `old`. Also returns a description of the difference.
    fn judged(&self, id: &ObjectId, old: &Value, new: &Value, wanted: &Value) -> (Count, String) {
        let mut count = Count::default();
        let (own, edited) = (&self.own[id], &self.edited[id]);
        let (field, holds) = if own != edited {
            (&mut count.rewritten, new == wanted)
        } else if wanted == old {
            (&mut count.unchanged, new == old)
        } else {
            (&mut count.refused, is_refused(&self.findings, own))
        };
        *field += 1;
        if holds {
            return (count, String::new());
        }
        count.differences += 1;
        let messages = self.findings.iter().map(|finding| finding.message.as_str());
        let messages: Vec<&str> = messages.collect();
        (count, format!("{}\n{messages:#?}", both(new, wanted)))
    }
}

/// Compares both orders on one tree; the second value describes the first difference.
fn compared(seed: u64, form: Form) -> (Count, Option<String>) {
    let files = tree(seed, Builder::InProcess);
    let before = set(&files);
    let run = engine::rewrite(&before, &settings(form));
    let after: Vec<Vec<(ObjectId, Value)>> = render(&run.set).iter().map(built).collect();
    let rewritten = Rewritten {
        own: objects(&before),
        edited: objects(&run.set),
        findings: run.findings,
    };
    let renderings = render(&before);
    assert_eq!(renderings.len(), after.len(), "seed {seed}");
    let mut all = Count {
        overlays: renderings.len(),
        ..Count::default()
    };
    let mut first = None;
    // A build that kustomize refuses prints no text, and its facts are not those of the rendering.
    let is_built = |rendering: &Rendering| !rendering.notes.iter().any(|note| note.is_refused);
    let pairs = renderings.iter().zip(&after);
    for (rendering, after) in pairs.filter(|(rendering, _)| is_built(rendering)) {
        let pairs = built(rendering);
        let piped = rewritten_stream(&built_text(rendering), form);
        assert_eq!(pairs.len(), piped.len(), "seed {seed}");
        assert_eq!(pairs.len(), after.len(), "seed {seed}");
        for (((id, old), (_, new)), wanted) in pairs.iter().zip(after).zip(&piped) {
            let (count, what) = rewritten.judged(id, old, new, wanted);
            all = all.and(count);
            if count.differences > 0 && first.is_none() {
                let what = format!("{form:?} {}\n{what}", rendering.location_file());
                first = Some(explained(seed, &files, &what));
            }
        }
    }
    (all, first)
}

#[test]
fn rewriting_and_building_commute() {
    let seeds: Vec<u64> = (0..trees()).collect();
    let each = seeds.par_iter().map(|seed| {
        let (annotation, first) = compared(*seed, Form::Annotation);
        let (container, second) = compared(*seed, Form::Container);
        (annotation.and(container), first.or(second))
    });
    let each: Vec<(Count, Option<String>)> = each.collect();
    let counts = each.iter().map(|(count, _)| *count);
    let count = counts.fold(Count::default(), Count::and);
    println!("{} trees in two forms: {count:?}", seeds.len());
    let first = each.into_iter().find_map(|(_, difference)| difference);
    assert_eq!(first, None, "{count:?}");
    assert!(count.rewritten > 50 && count.refused > 50, "{count:?}");
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

/// Returns the build of each root; `None` if kustomize refuses one of them.
fn builds(kustomize: &Path, tree: &Path) -> Option<Vec<String>> {
    let roots = ["all", "one", "two"].into_iter();
    let roots = roots.map(|root| tree.join(root));
    let roots = roots.filter(|root| root.is_dir());
    roots.map(|root| build(kustomize, &root)).collect()
}

/// Returns the label that identifies an object of the base; no overlay changes it.
fn piece(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels/piece")?.as_str()
}

/// A tree on disk, with its builds by kustomize.
struct Built {
    files: Files,
    folder: TempDir,
    before: Vec<String>,
}

/// Writes the tree of a seed; returns `None` if kustomize refuses to build it.
fn on_disk(kustomize: &Path, seed: u64) -> Option<Built> {
    let files = tree(seed, Builder::Kustomize);
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let before = builds(kustomize, folder.path())?;
    Some(Built {
        files,
        folder,
        before,
    })
}

/// Returns the labels of the objects that differ between two versions of a file.
fn changed(own: &str, edited: &str) -> BTreeSet<String> {
    let (own, edited) = (pieces(&values(own)), pieces(&values(edited)));
    own.iter()
        .zip(edited)
        .filter(|(own, edited)| **own != *edited)
        .filter_map(|(own, _)| piece(own).map(str::to_owned))
        .collect()
}

const OPTIONS: [&str; 4] = ["rewrite", "--isolated", "--mesh-version", "1.28"];

/// Compares both orders on a tree that kustomize builds.
fn compared_with_kustomize(kustomize: &Path, seed: u64, built: &Built) -> Count {
    let folder = built.folder.path();
    let run = meshprobe(folder, &[&OPTIONS[..], &["--write", "."]].concat(), "");
    let title = |what: &str| explained(seed, &built.files, &format!("{what}\n{}", run.stderr));
    let edited = std::fs::read_to_string(folder.join("base/app.yaml")).unwrap();
    let changed = changed(&built.files["base/app.yaml"], &edited);
    let after = builds(kustomize, folder)
        .unwrap_or_else(|| panic!("{}", title("the rewritten tree fails to build")));
    let mut count = Count {
        overlays: after.len(),
        ..Count::default()
    };
    for (before, after) in built.before.iter().zip(&after) {
        let piped = meshprobe(folder, &[&OPTIONS[..], &["-"]].concat(), before);
        let (old, new, wanted) = (values(before), values(after), values(&piped.stdout));
        assert_eq!(
            old.len(),
            new.len(),
            "{}",
            title("the number of objects differs")
        );
        assert_eq!(
            old.len(),
            wanted.len(),
            "{}",
            title("the number of objects in the rewritten build differs")
        );
        for ((old, new), wanted) in old.iter().zip(&new).zip(&wanted) {
            let is_changed = piece(old).is_some_and(|piece| changed.contains(piece));
            if is_changed || new != old {
                count.rewritten += 1;
                assert!(new == wanted, "{}", title(&both(new, wanted)));
            } else if wanted == old {
                count.unchanged += 1;
            } else {
                count.refused += 1;
                assert_eq!(run.code, 1, "{}", title("not refused"));
            }
        }
    }
    count
}

#[test]
fn rewriting_and_building_with_kustomize_commute() {
    let Some(kustomize) = kustomize() else { return };
    let wanted = trees().div_ceil(TREES_PER_BUILT);
    let mut count = Count::default();
    let mut seed = 10_000;
    for _ in 0..wanted {
        let built = loop {
            seed += 1;
            if let Some(built) = on_disk(&kustomize, seed) {
                break built;
            }
        };
        count = count.and(compared_with_kustomize(&kustomize, seed, &built));
    }
    println!("{wanted} trees built by kustomize: {count:?}");
    assert!(count.rewritten > 0 && count.refused > 0, "{count:?}");
}

/// Returns the objects of a file: its documents, or the items of its list.
fn pieces(documents: &[Value]) -> Vec<Value> {
    let items = |document: &Value| match &document["items"] {
        Value::Array(items) => items.iter().cloned().map(normal).collect(),
        _ => vec![document.clone()],
    };
    documents.iter().flat_map(items).collect()
}
