//! The paths that differ between two states.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use meshprobe::git::Side;

use super::repository::{TestRepository, load, load_commit};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Returns a repository with four files.
fn four_files() -> TestRepository {
    let repository = TestRepository::new();
    for name in ["a", "b", "c", "d"] {
        repository.write(&format!("{name}/x.yaml"), CONFIG_MAP);
    }
    repository.commit("one");
    repository
}

/// Returns the paths that may differ from `HEAD`.
fn changed(repository: &TestRepository, side: &Side) -> Vec<String> {
    let opened = repository.open();
    let changed = opened
        .changed(&opened.resolve("HEAD").unwrap(), side)
        .unwrap();
    let paths = changed.paths();
    assert!(paths.iter().all(|path| changed.contains(path)));
    let root = &repository.root;
    let below = |path: PathBuf| {
        path.strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned()
    };
    paths.into_iter().map(below).collect()
}

#[test]
fn changes_of_the_working_tree_and_of_the_index_are_found() {
    let repository = four_files();
    assert!(changed(&repository, &Side::WorkingTree).is_empty());
    repository.write("a/x.yaml", "changed: true\n");
    fs::remove_file(repository.root.join("b/x.yaml")).unwrap();
    repository.git(&["rm", "-q", "--cached", "c/x.yaml"]);
    repository.write("untracked.yaml", CONFIG_MAP);
    assert_eq!(
        changed(&repository, &Side::WorkingTree),
        ["a/x.yaml", "b/x.yaml", "c/x.yaml"]
    );
    assert_eq!(changed(&repository, &Side::Index), ["c/x.yaml"]);
    let opened = repository.open();
    let first = opened.resolve("HEAD").unwrap();
    assert!(changed(&repository, &Side::Commit(first.clone())).is_empty());
    repository.commit("two");
    assert_eq!(
        changed(&repository, &Side::Commit(first)),
        ["a/x.yaml", "b/x.yaml", "untracked.yaml"]
    );
}

/// Each of these files is different on disk, but git does not compare it.
#[test]
fn flags_of_the_index_do_not_hide_changes() {
    let repository = four_files();
    repository.git(&["update-index", "--assume-unchanged", "a/x.yaml"]);
    repository.git(&["update-index", "--skip-worktree", "b/x.yaml"]);
    for name in ["a", "b"] {
        repository.write(&format!("{name}/x.yaml"), "changed: true\n");
    }
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(
        changed(&repository, &Side::WorkingTree),
        ["a/x.yaml", "b/x.yaml"]
    );
}

#[test]
fn settings_of_the_repository_do_not_hide_changes() {
    let repository = four_files();
    repository.git(&["config", "core.checkStat", "minimal"]);
    repository.git(&["config", "core.trustctime", "false"]);
    let path = repository.root.join("a/x.yaml");
    // Git trusts a time that is older than its index.
    let old = SystemTime::now() - Duration::from_secs(3_600);
    let set_time = || {
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap()
    };
    set_time();
    repository.git(&["update-index", "--refresh"]);
    // Git compares whole seconds.
    std::thread::sleep(Duration::from_millis(1_100));
    fs::write(&path, CONFIG_MAP.replace("name: a", "name: b")).unwrap();
    set_time();
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(changed(&repository, &Side::WorkingTree), ["a/x.yaml"]);
}

#[test]
fn a_sparse_checkout_is_completed_from_the_index() {
    let repository = four_files();
    repository.write("d/x.yaml", format!("{CONFIG_MAP}# changed\n"));
    repository.commit("two");
    repository.git(&["sparse-checkout", "set", "--cone", "a"]);
    assert!(!repository.root.join("d").exists());
    // A file outside of the checked out folders may exist.
    repository.write("b/y.yaml", CONFIG_MAP);
    let opened = repository.open();
    let snapshot = opened.snapshot_of_working_tree().unwrap();
    let set = load(&repository.root, snapshot.files());
    let paths: Vec<&str> = set.files.iter().map(|file| &*file.path).collect();
    assert_eq!(
        paths,
        ["a/x.yaml", "b/x.yaml", "b/y.yaml", "c/x.yaml", "d/x.yaml"]
    );
    assert!(set.file("d/x.yaml").unwrap().text.ends_with("# changed\n"));
    assert!(changed(&repository, &Side::WorkingTree).is_empty());
    let before = opened.resolve("HEAD~1").unwrap();
    let found = opened.changed(&before, &Side::WorkingTree).unwrap();
    assert_eq!(found.paths(), [repository.root.join("d/x.yaml")]);
    assert_eq!(load_commit(&opened, &before).files.len(), 4);
}

/// Programs that the repository configures could do anything.
#[test]
fn programs_of_the_repository_are_not_run() {
    let repository = four_files();
    let marker = repository.next_to("was-run");
    let program = repository.next_to("program");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_string_lossy().into_owned();
    repository.write(".gitattributes", "*.yaml filter=evil diff=evil\n");
    repository.commit("two");
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.pager",
        "core.sshCommand",
        "credential.helper",
    ] {
        repository.git(&["config", key, &program]);
    }
    repository.git(&["config", "filter.evil.required", "true"]);
    let hook = repository.root.join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::copy(&program, &hook).unwrap();
    // Git compares a file that is as new as its index.
    repository.write("a/x.yaml", CONFIG_MAP.replace("name: a", "name: b"));
    let index = fs::read(repository.root.join(".git/index")).unwrap();
    fs::write(repository.root.join(".git/index"), &index).unwrap();
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    assert!(changed(&repository, &Side::WorkingTree).contains(&"a/x.yaml".to_owned()));
    changed(&repository, &Side::Index);
    load_commit(&opened, &head);
    opened.snapshot_of_index().unwrap();
    opened.snapshot_of_working_tree().unwrap();
    assert!(!marker.exists(), "a program of the repository was run");
    assert_eq!(
        fs::read(repository.root.join(".git/index")).unwrap(),
        index,
        "the index was written"
    );
}

#[test]
fn submodules_count_as_changed() {
    let repository = four_files();
    let other = TestRepository::new();
    other.write("web.yaml", CONFIG_MAP);
    other.commit("one");
    let url = other.root.to_string_lossy().into_owned();
    repository.git(&["submodule", "--quiet", "add", &url, "sub"]);
    repository.commit("two");
    let opened = repository.open();
    let found = opened
        .changed(&opened.resolve("HEAD").unwrap(), &Side::WorkingTree)
        .unwrap();
    assert!(found.contains(&repository.root.join("sub/web.yaml")));
    assert!(!found.contains(&repository.root.join("a/x.yaml")));
}
