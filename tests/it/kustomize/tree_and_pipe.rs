//! A kustomization that only includes a manifest changes no verdict: findings and predictions for the tree equal
//! those for its build on standard input. The tests use every fixture of every mesh.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::kustomize;
use crate::support::rendered_text::stream;
use meshprobe::context::Context;
use meshprobe::engine;
use meshprobe::gitops::{render, render_relevant};
use meshprobe::predict::predict_all;
use meshprobe::settings::Settings;
use meshprobe::source::{Content, SourceFile, SourceSet};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

/// Fields of the kustomization in addition to its resources: none, or one that changes every object.
const FIELDS: [&str; 2] = ["", "commonAnnotations: {owner: us}\n"];
/// Number of manifests that the real kustomize builds; each build takes a process.
const BUILT: usize = 40;

fn manifests() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.unwrap().into_path());
    files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect()
}

fn set(files: &[(&str, &str)]) -> SourceSet {
    let file = |(path, text): &(&str, &str)| SourceFile::new((*path).into(), (*text).into());
    SourceSet::new(files.iter().map(file).collect())
}

/// A manifest in a kustomization, and the text that its build prints.
struct Case {
    tree: SourceSet,
    piped: SourceSet,
}

/// Returns the case of a manifest; `None` if kustomize would refuse the file, or if the renderer reads more or less
/// than its objects.
fn case(text: &str, fields: &str) -> Option<Case> {
    // A comment may suppress a finding, and a build contains no comments.
    if text.contains("meshprobe:") || text.contains("# Source:") {
        return None;
    }
    let kustomization = format!("resources: [manifest.yaml]\n{fields}");
    let tree = set(&[
        ("kustomization.yaml", &kustomization),
        ("manifest.yaml", text),
    ]);
    let documents = &tree.file("manifest.yaml")?.documents;
    let is_known = |content: &Content| match content {
        Content::Tree(tree) => tree.duplicate_keys().is_empty(),
        content => matches!(content, Content::Empty),
    };
    if !documents
        .iter()
        .all(|document| is_known(&document.content) && !document.patch)
    {
        return None;
    }
    let renderings = render(&tree);
    let [rendering] = renderings.as_slice() else {
        return None;
    };
    if !rendering.notes.is_empty() || rendering.documents.is_empty() {
        return None;
    }
    let piped = set(&[("manifest.yaml", &stream(rendering, |_| true))]);
    Some(Case { tree, piped })
}

/// Returns one line for each verdict.
fn verdicts(set: &SourceSet) -> BTreeSet<String> {
    let settings = Settings::default();
    let renderings = render_relevant(set);
    let context = Context::new(set, &renderings, &settings);
    let mut lines = BTreeSet::new();
    for pod in predict_all(&context) {
        for handler in &pod.handlers {
            lines.insert(format!(
                "{} {:?} {} {:?} {:?} {:?}",
                pod.workload.title(),
                pod.workload.object.namespace(),
                handler.title(),
                pod.dataplane.value,
                handler.verdict.outcome,
                handler.verdict.cause,
            ));
        }
    }
    lines
}

/// Rules about the text of a manifest: kustomize quotes values of annotations, and istioctl reads the
/// documents of a file, not those of a build.
const ABOUT_TEXT: [&str; 2] = ["annotation-not-a-string", "vm-multi-doc"];

/// Returns one line for each finding, without its location.
fn findings(set: &SourceSet) -> BTreeSet<String> {
    let outcome = engine::check(set, &Settings::default());
    let all = outcome.all().into_iter();
    let lines = all
        .filter(|finding| !ABOUT_TEXT.contains(&finding.rule.as_str()))
        .map(|finding| {
            let object = finding.object.as_ref();
            let object = object.map(|object| (&object.kind, &object.namespace, &object.name));
            let field = (&finding.container, &finding.field);
            format!(
                "{} {:?} {object:?} {field:?}",
                finding.rule, finding.severity
            )
        });
    lines.collect()
}

fn differences(case: &Case, of: fn(&SourceSet) -> BTreeSet<String>) -> Vec<String> {
    let (tree, piped) = (of(&case.tree), of(&case.piped));
    let only = |set: &BTreeSet<String>, other: &BTreeSet<String>, source: &str| {
        let lines = set.difference(other);
        lines
            .map(|line| format!("only in the {source}: {line}"))
            .collect::<Vec<_>>()
    };
    let mut all = only(&tree, &piped, "tree");
    all.extend(only(&piped, &tree, "pipe"));
    all
}

/// Compares tree and pipe of each manifest; returns the number of manifests, and the differences.
fn compared(
    manifests: &BTreeMap<PathBuf, String>,
    fields: &str,
    of: fn(&SourceSet) -> BTreeSet<String>,
) -> (usize, Vec<String>) {
    let compared: Vec<Option<Vec<String>>> = manifests
        .par_iter()
        .map(|(path, text)| {
            let lines = differences(&case(text, fields)?, of).into_iter();
            Some(
                lines
                    .map(|line| format!("{}: {line}", path.display()))
                    .collect(),
            )
        })
        .collect();
    let cases: Vec<Vec<String>> = compared.into_iter().flatten().collect();
    (cases.len(), cases.concat())
}

#[test]
fn findings_for_a_fixture_in_a_tree_equal_those_for_its_build() {
    let texts = manifests().into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((path, text))
    });
    let texts = texts.collect();
    for fields in FIELDS {
        let (cases, lines) = compared(&texts, fields, findings);
        println!("{cases} kustomizations around a manifest");
        assert!(lines.is_empty(), "{} differences: {lines:#?}", lines.len());
        assert!(cases > 300, "{cases}");
    }
}

#[test]
fn predictions_for_objects_of_every_mesh_in_a_tree_equal_those_for_their_build() {
    let manifests = manifests_of_meshes();
    for fields in FIELDS {
        let (cases, lines) = compared(&manifests, fields, verdicts);
        println!("{cases} kustomizations around objects of a mesh");
        assert!(lines.is_empty(), "{} differences: {lines:#?}", lines.len());
        assert!(cases > 30, "{cases}");
    }
}

/// Returns the manifests that contain objects of other meshes, EnvoyFilters or WorkloadGroups.
fn manifests_of_meshes() -> BTreeMap<PathBuf, String> {
    const GROUPS: [&str; 8] = [
        "linkerd.io/",
        "kuma.io/",
        "consul.hashicorp.com/",
        "openservicemesh.io/",
        "appmesh.k8s.aws/",
        "cilium.io/",
        "kind: EnvoyFilter",
        "kind: WorkloadGroup",
    ];
    let texts = manifests().into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        let mut groups = GROUPS.iter();
        let is_object = |group: &&str| {
            let mut lines = text.lines();
            lines.any(|line| line.starts_with("apiVersion: ") && line.contains(*group))
                || text.contains(*group) && group.starts_with("kind")
        };
        groups.any(is_object).then_some((path, text))
    });
    texts.collect()
}

#[test]
fn predictions_for_objects_of_every_mesh_equal_those_for_the_build_of_kustomize() {
    let Some(kustomize) = kustomize() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut built = 0;
    for (path, text) in manifests_of_meshes() {
        let Some(case) = case(&text, "") else {
            continue;
        };
        if built == BUILT {
            break;
        }
        std::fs::write(folder.path().join("manifest.yaml"), &text).unwrap();
        let kustomization = "resources: [manifest.yaml]\n";
        std::fs::write(folder.path().join("kustomization.yaml"), kustomization).unwrap();
        let output = Command::new(&kustomize)
            .arg("build")
            .arg(folder.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", path.display());
        let piped = String::from_utf8(output.stdout).unwrap();
        let piped = SourceSet::from_text("manifest.yaml", &piped);
        assert_eq!(verdicts(&case.tree), verdicts(&piped), "{}", path.display());
        built += 1;
    }
    println!("{built} manifests with objects of a mesh were built by kustomize");
    assert!(built >= 20, "{built}");
}
