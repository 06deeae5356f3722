//! The directory walk lists the same files as a walk of the `ignore` crate.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use meshprobe::source::{Folders, Input, Request, WalkOptions, find};
use proptest::prelude::*;

/// Folders of the trees, in the order of their creation.
const FOLDERS: [&str; 7] = ["", "a", "b", "a/a", "a/b", "a/b/a", "b/.c"];
const FILES: [&str; 5] = ["x.yaml", "y.yml", "a.json", "kustomization.yaml", "n.txt"];
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "*.yaml",
        "!*.yaml",
        "x.yaml",
        "!x.yaml",
        "/x.yaml",
        "y.*",
        "a",
        "!a",
        "a/",
        "/a",
        "b/",
        "**/a",
        "a/**",
        "!a/**",
        "b/x.yaml",
        "a/b/*",
        "*/y.yml",
        "# a",
        "",
        "[",
        "{x",
        ".*",
        "*",
        "!*/",
        "\u{feff}a",
        "x.yaml ",
        "/b/.c",
    ]);
    prop::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n"))
}

/// An ignore file: its folder, its name and its text.
fn ignore_files() -> impl Strategy<Value = Vec<(&'static str, &'static str, String)>> {
    let folder = prop::sample::select(FOLDERS.to_vec());
    let name = prop::sample::select(IGNORE_FILES.to_vec());
    prop::collection::vec((folder, name, lines()), 0..6)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn tree(root: &Path) {
    for folder in FOLDERS {
        for file in FILES {
            write(&root.join(folder).join(file), "");
        }
    }
}

fn meshprobe_walk(root: &Path, no_ignore: bool) -> Vec<PathBuf> {
    let request = Request {
        targets: vec![Input::Path(root.to_path_buf())],
        working_directory: root.to_path_buf(),
        walk: WalkOptions {
            no_ignore,
            ..WalkOptions::default()
        },
        ..Request::default()
    };
    let found = find(&request, &mut Folders::default());
    found.iter().map(|file| root.join(&*file.path)).collect()
}

fn ignore_walk(root: &Path, no_ignore: bool) -> Vec<PathBuf> {
    let is_git = |entry: &ignore::DirEntry| entry.file_name() == ".git";
    let mut found: Vec<PathBuf> = WalkBuilder::new(root)
        .standard_filters(!no_ignore)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(move |entry| !is_git(entry))
        .build()
        // The walk returns an error for an invalid line in an ignore file of a parent folder.
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(ignore::DirEntry::into_path)
        .filter(|path| {
            let extension = path.extension().unwrap_or_default();
            ["yaml", "yml", "json"]
                .iter()
                .any(|known| extension == *known)
        })
        .collect();
    found.sort_by_key(|path| path.to_str().unwrap().to_owned());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ignore_files_hide_the_same_files_as_in_the_library(
        files in ignore_files(),
        from in prop::sample::select(FOLDERS.to_vec()),
    ) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        tree(&root);
        for (folder, name, text) in &files {
            write(&root.join(folder).join(name), text);
        }
        let from = root.join(from);
        prop_assert_eq!(meshprobe_walk(&from, false), ignore_walk(&from, false));
        prop_assert_eq!(meshprobe_walk(&from, true), ignore_walk(&from, true));
    }
}

/// A clone and a worktree of it, whose `.git` is a file.
#[test]
fn a_worktree_hides_the_same_files_as_its_clone() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let (clone, worktree) = (root.join("clone"), root.join("worktree"));
    tree(&worktree);
    write(&clone.join(".git/info/exclude"), "x.yaml\n");
    let own = clone.join(".git/worktrees/worktree");
    write(&own.join("commondir"), "../..\n");
    // Git answers that it tracks nothing: if it cannot tell, ignore files hide nothing.
    for git in [&clone.join(".git"), &own] {
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
    }
    for folder in ["objects", "refs"] {
        fs::create_dir_all(clone.join(".git").join(folder)).unwrap();
    }
    // The back reference that git writes: without it the folder may belong to anyone.
    let back = worktree.join(".git");
    write(&own.join("gitdir"), &format!("{}\n", back.display()));
    write(
        &worktree.join(".git"),
        &format!("gitdir: {}\n", own.display()),
    );
    for from in [&worktree, &worktree.join("a")] {
        assert_eq!(meshprobe_walk(from, false), ignore_walk(from, false));
        assert!(
            meshprobe_walk(from, false)
                .iter()
                .all(|path| !path.ends_with("x.yaml"))
        );
    }
    // Relative to the worktree, because the library resolves it from the working directory.
    write(
        &worktree.join(".git"),
        "gitdir: ../clone/.git/worktrees/worktree\n",
    );
    assert!(
        meshprobe_walk(&worktree, false)
            .iter()
            .all(|path| !path.ends_with("x.yaml"))
    );
    assert!(
        meshprobe_walk(&worktree, true)
            .iter()
            .any(|path| path.ends_with("x.yaml"))
    );
}

/// The library resolves a link at the root of a walk, and applies the ignore files around its target.
#[cfg(unix)]
#[test]
fn the_ignore_files_around_the_target_of_a_linked_folder_apply() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    tree(&root.join("real"));
    write(&root.join("real/.gitignore"), "a/x.yaml\n/b/.c\n");
    write(&root.join("real/a/.gitignore"), "/b/y.yml\n");
    write(&root.join(".gitignore"), "/named\n/real/a/b/x.yaml\n");
    std::os::unix::fs::symlink("real/a", root.join("named")).unwrap();
    let from = root.join("named");
    assert_eq!(meshprobe_walk(&from, false), ignore_walk(&from, false));
    assert!(!meshprobe_walk(&from, false).contains(&from.join("b/x.yaml")));
}
