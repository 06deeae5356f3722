//! Renderings that two states of a tree share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe::engine;
use meshprobe::git::Side;
use meshprobe::gitops::{render_relevant, render_relevant_again};
use meshprobe::kustomize::Rendering;
use meshprobe::source::{Content, Request, SharedFiles};

use super::repository::{TestRepository, load, request};
use crate::support::fixture;

/// Copies the files below a folder of the fixtures, and returns their paths in the repository.
fn copy(repository: &TestRepository, folder: &Path, within: &str) -> Vec<PathBuf> {
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
        let documents = renderings.iter().flat_map(|rendering| &rendering.documents);
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
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    let mut reused = 0;
    for (number, path) in files.iter().enumerate().step_by(2) {
        let place = repository.root.join(path);
        let text = fs::read_to_string(&place).unwrap();
        match changed(&text, number / 2) {
            Some(text) => fs::write(&place, text).unwrap(),
            None => fs::remove_file(&place).unwrap(),
        }
        let after = load(&repository.root, Request::default().filesystem);
        let differing = opened.changed(&head, &Side::WorkingTree).unwrap();
        let before = engine::load(&Request {
            shared: Some(Arc::new(SharedFiles::new(&after, differing))),
            ..request(&repository.root, opened.snapshot(&head).unwrap().files())
        });
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
    assert!(reused > 100, "{reused}");
}
