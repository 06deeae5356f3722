//! Renderings that two states of a tree share.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use meshprobe::diff::State;
use meshprobe::engine::{self, AnalysisRequest};
use meshprobe::git::Side;
use meshprobe::gitops::{render_relevant, render_relevant_again};
use meshprobe::kustomize::Rendering;
use meshprobe::settings::Settings;
use meshprobe::source::{Content, Request, SharedFiles, SourceSet};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use super::repository::{TestRepository, load, request};
use crate::support::fixture;

/// Copies the files below a folder of the fixtures, and returns their paths in the repository.
pub(super) fn copy(repository: &TestRepository, folder: &Path, within: &str) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let mut copied = Vec::new();
    for path in entries {
        let name = path.file_name().unwrap().to_str().unwrap();
        let target = format!("{within}/{name}");
        if path.is_dir() {
            copied.extend(copy(repository, &path, &target));
        } else {
            repository.write(&target, fs::read(&path).unwrap());
            copied.push(target.into());
        }
    }
    copied
}

/// Returns a changed text for a file; `None` deletes it.
fn changed(text: &str, number: usize) -> Option<String> {
    match number % 4 {
        0 => Some(text.replacen("name: ", "name: x", 1)),
        1 => Some(text.replace("80", "81")),
        2 => Some(format!("{text}# a comment\n")),
        _ => None,
    }
}

/// Returns the number of rendered documents whose trees both lists of renderings contain.
fn shared_trees(one: &[Rendering], other: &[Rendering]) -> usize {
    let trees = |renderings: &[Rendering]| -> BTreeSet<usize> {
        let documents = renderings
            .iter()
            .flat_map(|rendering| rendering.documents.iter());
        documents
            .filter_map(|rendered| match &rendered.document.content {
                Content::Tree(tree) => Some(Arc::as_ptr(tree) as usize),
                _ => None,
            })
            .collect()
    };
    trees(one).intersection(&trees(other)).count()
}

#[test]
fn reused_renderings_equal_new_ones() {
    let repository = TestRepository::new();
    let mut files = Vec::new();
    for folder in ["kustomize", "gitops", "deployed"] {
        files.extend(copy(&repository, &fixture(folder), folder));
    }
    repository.commit("fixtures");
    let mut reused = 0;
    for (number, path) in files.iter().enumerate().step_by(5) {
        let place = repository.root.join(path);
        let text = fs::read_to_string(&place).unwrap();
        match changed(&text, number / 5) {
            Some(text) => fs::write(&place, text).unwrap(),
            None => fs::remove_file(&place).unwrap(),
        }
        let (before, after) = states(&repository);
        let rendered = render_relevant(&before);
        let again = render_relevant_again(&after, Some((&before, &rendered)));
        let alone = render_relevant(&after);
        assert_eq!(
            format!("{again:#?}"),
            format!("{alone:#?}"),
            "{}",
            path.display()
        );
        reused += shared_trees(&again, &rendered) - shared_trees(&alone, &rendered);
        fs::write(&place, text).unwrap();
    }
    assert!(reused > 40, "{reused}");
}

/// Kustomizations of the folders `a` to `f`, which list each other.
const KUSTOMIZATIONS: [&str; 9] = [
    "resources: [x.yaml]\n",
    "resources: [x.yaml, y.yaml]\nnamespace: shop\n",
    "resources: [../a]\npatches: [{path: y.yaml}]\n",
    "resources: [../a, ../b]\nnamePrefix: p-\n",
    "resources: [x.yaml, ../c]\ncomponents: [../d]\n",
    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: x.yaml}]\n",
    "resources: [../b, missing.yaml]\nconfigMapGenerator: [{name: m, files: [k=y.yaml]}]\n",
    "resources: [../e/x.yaml, ../f]\n",
    "resources: [../e, ../c]\nreplicas: [{name: web, count: 2}]\n",
];

const MANIFESTS: [&str; 5] = [
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n\
     \x20       - name: web\n          readinessProbe: {httpGet: {port: 80}}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n\
     \x20       - name: web\n          livenessProbe: {tcpSocket: {port: 81}}\n",
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n",
    "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default}\nspec: {mtls: {mode: STRICT}}\n",
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: c}\nspec: {path: ./c}\n",
];

const FOLDERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Returns the path and a text for a number.
fn file(number: usize) -> (String, &'static str) {
    let (folder, rest) = (FOLDERS[number % 6], number / 6);
    match (rest % 3, rest / 3) {
        (0, text) => (
            format!("{folder}/kustomization.yaml"),
            KUSTOMIZATIONS[text % 9],
        ),
        (1, text) => (format!("{folder}/x.yaml"), MANIFESTS[text % 5]),
        (_, text) => (format!("{folder}/y.yaml"), MANIFESTS[text % 5]),
    }
}

/// Returns the state before the changes of the working tree, and the working tree.
fn states(repository: &TestRepository) -> (SourceSet, SourceSet) {
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    let after = load(&repository.root, Request::default().filesystem);
    let differing = opened.changed(&head, &Side::WorkingTree).unwrap();
    let before = engine::load(&Request {
        shared: Some(Arc::new(SharedFiles::new(&after, differing))),
        ..request(&repository.root, opened.snapshot(&head).unwrap().files())
    });
    (before, after)
}

/// Returns the text of renderings without what they count towards the limit: a base that several roots share counts for
/// one of them.
fn contents(renderings: &impl Debug) -> String {
    let text = format!("{renderings:#?}");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("held: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks that a state with renderings of another one equals a state on its own, and returns the number of rendered
/// documents that both states share.
fn assert_same_state(repository: &TestRepository) -> usize {
    let (before, after) = states(repository);
    let (old, alone) = (render_relevant(&before), render_relevant(&after));
    let again = render_relevant_again(&after, Some((&before, &old)));
    assert_eq!(contents(&again), contents(&alone));
    let settings = Settings::default();
    let request = AnalysisRequest::new(&after, &settings);
    let reusing = AnalysisRequest {
        renderings: Some(&again),
        ..request
    };
    let (reused, _) = State::of(&reusing, "");
    let (fresh, _) = State::of(&request, "");
    assert_eq!(format!("{reused:#?}"), format!("{fresh:#?}"));
    shared_trees(&again, &old) - shared_trees(&alone, &old)
}

#[test]
fn a_state_that_reuses_renderings_equals_one_on_its_own_after_random_edits() {
    let reused = AtomicUsize::new(0);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 16,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let files = prop::collection::vec(0..1_000_usize, 12..40);
    let edits = prop::collection::vec((0..1_000_usize, prop::bool::weighted(0.2)), 1..4);
    let result = runner.run(&(files, edits), |(files, edits)| {
        let repository = TestRepository::new();
        for (path, text) in files.into_iter().map(file) {
            repository.write(&path, text);
        }
        repository.commit("before");
        for (number, is_removed) in edits {
            let (path, text) = file(number);
            repository.write(&path, text);
            if is_removed {
                fs::remove_file(repository.root.join(&path)).unwrap();
            }
        }
        reused.fetch_add(assert_same_state(&repository), Ordering::Relaxed);
        Ok(())
    });
    if let Err(TestError::Fail(reason, input)) = &result {
        panic!("{reason}\n{input:?}");
    }
    result.unwrap();
    // Most edits reach most of a small tree.
    assert_ne!(reused.into_inner(), 0);
}

#[test]
fn a_root_that_a_change_of_its_group_does_not_reach_is_reused() {
    let repository = TestRepository::new();
    for (path, text) in [
        ("a/kustomization.yaml", KUSTOMIZATIONS[0]),
        ("a/x.yaml", MANIFESTS[0]),
        (
            "b/kustomization.yaml",
            "resources: [../a]\nnamePrefix: b-\n",
        ),
        (
            "c/kustomization.yaml",
            "resources: [../a]\nnamePrefix: c-\n",
        ),
    ] {
        repository.write(path, text);
    }
    repository.commit("before");
    repository.write(
        "c/kustomization.yaml",
        "resources: [../a]\nnamePrefix: d-\n",
    );
    assert_eq!(assert_same_state(&repository), 1);
    repository.git(&["checkout", "-q", "."]);
    repository.write("a/x.yaml", MANIFESTS[1]);
    assert_eq!(assert_same_state(&repository), 0);
}
