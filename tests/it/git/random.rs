//! Random revisions are the same as checkouts of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use super::repository::{TestRepository, assert_like_checkout};

const NAMES: [&str; 10] = [
    "a",
    "b",
    "templates",
    "kustomization.yaml",
    "x.yaml",
    "y.yaml",
    "Chart.yaml",
    ".gitignore",
    ".meshprobe.yaml",
    "Makefile",
];

const TEXTS: [&str; 8] = [
    "",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n# {{ .Values.x }}\n",
    "resources: [x.yaml, ../b, a/y.yaml]\npatches: [{path: y.yaml}]\n",
    "resources: [../a/x.yaml, b, ./a/]\npatchesStrategicMerge: [../x.yaml]\n",
    "x.yaml\nb/\n!a/x.yaml\n",
    "spec: {root: true}\n",
    "all:\n\tcat > y.yaml\n",
];

const TARGETS: [&str; 8] = [
    "a",
    "../b",
    "x.yaml",
    "../a/y.yaml",
    ".",
    "../../x",
    "/a",
    "a/b/../x.yaml",
];

/// A path of a revision, with its text or the target of a link.
#[derive(Clone, Debug)]
struct Item {
    path: Vec<&'static str>,
    text: Result<&'static str, &'static str>,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let path = prop::collection::vec(prop::sample::select(&NAMES[..]), 1..4);
    let text = prop_oneof![
        3 => prop::sample::select(&TEXTS[..]).prop_map(Ok),
        1 => prop::sample::select(&TARGETS[..]).prop_map(Err),
    ];
    let item = (path, text).prop_map(|(path, text)| Item { path, text });
    prop::collection::vec(item, 0..25)
}

/// Writes files and links. Skips those whose path is taken, or leads through a link.
fn write_items(root: &Path, items: &[Item]) {
    for item in items {
        let mut path = root.to_path_buf();
        let folders = &item.path[..item.path.len() - 1];
        let is_free = folders.iter().all(|name| {
            path.push(name);
            let found = path.symlink_metadata();
            found.map_or_else(|_| fs::create_dir(&path).is_ok(), |found| found.is_dir())
        });
        path.push(item.path[item.path.len() - 1]);
        if is_free && path.symlink_metadata().is_err() {
            match item.text {
                Ok(text) => fs::write(&path, text).unwrap(),
                Err(target) => symlink(target, &path).unwrap(),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_commit_is_read_like_a_checkout(one in items(), two in items()) {
        let repository = TestRepository::new();
        for items in [&one, &two] {
            for entry in fs::read_dir(&repository.root).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".git") {
                    continue;
                }
                let is_folder = path.symlink_metadata().unwrap().is_dir();
                if is_folder { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
            }
            write_items(&repository.root, items);
            repository.git(&["add", "-A", "-f"]);
            repository.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        }
        assert_like_checkout(&repository.root, "HEAD~1");
        assert_like_checkout(&repository.root, "main");
    }
}
