//! The first of two states whose files differ only in their contents.

use std::fs;
use std::os::unix::fs::symlink;

use meshprobe::git::{Commit, Repository, Side, Snapshot};
use meshprobe::source::SourceSet;

use super::renderings::copy;
use super::repository::{TestRepository, all_items, load, load_commit};
use crate::support::fixture;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n";

/// Returns the last two commits of a repository.
fn last_commits(opened: &Repository) -> [Commit; 2] {
    ["HEAD~1", "HEAD"].map(|name| opened.resolve(name).unwrap())
}

/// Returns the state before the last commit, derived from the state after it; `None` if more than contents changed.
fn before_last_commit(opened: &Repository) -> Option<Snapshot> {
    let [before, after] = last_commits(opened);
    let snapshot = opened.snapshot(&after).unwrap();
    let changed = opened.changed(&before, &Side::Commit(after)).unwrap();
    opened.snapshot_before(&snapshot, &changed)
}

/// Returns the files before the last commit, derived from those after it; `None` if others must be read again.
fn derived(opened: &Repository) -> Option<SourceSet> {
    let [before, after] = last_commits(opened);
    let snapshot = opened.snapshot(&after).unwrap();
    let set = load(opened.root(), snapshot.files());
    let changed = opened.changed(&before, &Side::Commit(after)).unwrap();
    let files = opened.snapshot_before(&snapshot, &changed)?.files();
    set.with_changed_contents(&snapshot.read_among(changed.paths()), &files)
}

/// Edits files of a folder of fixtures one after the other, and checks the state before each edit if it can be derived from
/// the state after it. Returns how many can.
fn derived_states(folder: &str) -> usize {
    let repository = TestRepository::new();
    let files = copy(&repository, &fixture(folder), folder);
    repository.commit("fixtures");
    let mut count = 0;
    for (number, path) in files.iter().enumerate().step_by(4) {
        let place = repository.root.join(path);
        let text = fs::read_to_string(&place).unwrap_or_default();
        let edited = match number % 8 {
            0 => format!("{text}# edited\n"),
            _ => text.replacen("name: ", "name: x", 1),
        };
        fs::write(&place, edited).unwrap();
        repository.commit("edit");
        let opened = repository.open();
        let [before, _] = last_commits(&opened);
        if let Some(derived) = derived(&opened) {
            let read = load_commit(&opened, &before);
            assert_eq!(format!("{derived:#?}"), format!("{read:#?}"), "{path:?}");
            count += 1;
        }
    }
    count
}

#[test]
fn the_first_state_follows_from_the_second_one() {
    let mut count = 0;
    for folder in ["gitops", "platform", "deployed", "meshes"] {
        count += derived_states(folder);
    }
    assert!(count >= 10, "{count}");
}

const KUSTOMIZATION: &str =
    "resources: [web.yaml]\nimages:\n- {name: nginx, newTag: '1'}\nnamespace: shop\n";

/// Returns whether the state before a change of some files can be derived from the state after it. If so, it equals the
/// state that is read.
fn is_derived_after(changes: &[(&str, &str)]) -> bool {
    let repository = TestRepository::new();
    repository.write("web.yaml", POD);
    repository.write("README.md", "text\n");
    repository.write(
        "chart/Chart.yaml",
        "{apiVersion: v2, name: chart, version: 1.0.0}\n",
    );
    repository.write("chart/templates/web.yaml", POD);
    repository.write(".gitignore", "ignored\n");
    repository.write("kustomization.yaml", KUSTOMIZATION);
    repository.commit("one");
    for (path, text) in changes {
        repository.write(path, text);
    }
    repository.commit("two");
    let opened = repository.open();
    let [before, _] = last_commits(&opened);
    let Some(derived) = derived(&opened) else {
        return false;
    };
    let read = load_commit(&repository.open(), &before);
    assert_eq!(format!("{derived:#?}"), format!("{read:#?}"), "{changes:?}");
    true
}

#[test]
fn contents_that_are_not_read_have_no_effect() {
    let web = (
        "web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\n",
    );
    assert!(is_derived_after(&[web, ("README.md", "other text\n")]));
    // Everything in a commit is tracked, so ignore files have no effect.
    assert!(is_derived_after(&[web, (".gitignore", "web.yaml\n")]));
}

#[test]
fn an_origin_may_be_recorded_if_it_is_not_found() {
    let of_chart = |name: &str| format!("# Source: {name}/templates/web.yaml\n{POD}");
    assert!(is_derived_after(&[("web.yaml", &of_chart("absent"))]));
    assert!(!is_derived_after(&[("web.yaml", &of_chart("chart"))]));
}

#[test]
fn a_kustomization_may_change_images_and_replicas() {
    let changed = |old: &str, new: &str| KUSTOMIZATION.replace(old, new);
    let replicas = format!("{KUSTOMIZATION}replicas: [{{name: web, count: 2}}]\n");
    for text in [
        changed("'1'", "'1.25'"),
        changed("nginx", "caddy"),
        replicas,
    ] {
        assert!(is_derived_after(&[("kustomization.yaml", &text)]), "{text}");
    }
    let kind = format!("{KUSTOMIZATION}kind: Component\n");
    for text in [
        changed("web.yaml", "./web.yaml"),
        changed("shop", "bank"),
        changed("'1'}", "'1'}\npatches: [{path: web.yaml}]"),
        changed("name: nginx", "name: &a nginx"),
        kind,
    ] {
        assert!(
            !is_derived_after(&[("kustomization.yaml", &text)]),
            "{text}"
        );
    }
}

#[test]
fn a_derived_state_has_the_files_of_its_commit() {
    let repository = TestRepository::new();
    repository.write("a/web.yaml", POD);
    repository.write("a/other.yaml", POD);
    repository.write("data.bin", b"\0\xff");
    symlink("a/web.yaml", repository.root.join("link.yaml")).unwrap();
    repository.commit("one");
    repository.write("a/web.yaml", format!("{POD}# changed\n"));
    repository.write("data.bin", b"\0\xfe\0");
    repository.commit("two");
    let opened = repository.open();
    let [before, _] = last_commits(&opened);
    let files = before_last_commit(&opened).unwrap().files();
    let read = opened.snapshot(&before).unwrap().files();
    let root = &repository.root;
    assert_eq!(all_items(&files, root), all_items(&read, root));
    let set = |files| load(root, files);
    assert_eq!(format!("{:#?}", set(files)), format!("{:#?}", set(read)));
}

#[test]
fn other_paths_or_kinds_are_not_changes_of_contents() {
    let changes: [fn(&TestRepository); 4] = [
        |repository| repository.write("new.yaml", POD),
        |repository| fs::remove_file(repository.root.join("b.yaml")).unwrap(),
        |repository| {
            fs::remove_file(repository.root.join("b.yaml")).unwrap();
            symlink("a.yaml", repository.root.join("b.yaml")).unwrap();
        },
        |repository| {
            fs::rename(
                repository.root.join("b.yaml"),
                repository.root.join("c.yaml"),
            )
            .unwrap();
        },
    ];
    for change in changes {
        let repository = TestRepository::new();
        repository.write("a.yaml", POD);
        repository.write("b.yaml", format!("{POD}# b\n"));
        repository.commit("one");
        repository.write("a.yaml", format!("{POD}# changed\n"));
        change(&repository);
        repository.commit("two");
        assert!(before_last_commit(&repository.open()).is_none());
    }
}

#[test]
fn the_index_provides_the_paths_of_the_first_state() {
    let repository = TestRepository::new();
    for name in ["a", "b", "c", "d", "e"] {
        repository.write(&format!("{name}.yaml"), format!("{POD}# {name}\n"));
    }
    repository.commit("one");
    repository.write("a.yaml", format!("{POD}# changed\n"));
    fs::remove_file(repository.root.join("b.yaml")).unwrap();
    repository.git(&["rm", "-q", "--cached", "c.yaml"]);
    repository.write("staged.yaml", POD);
    repository.write("announced.yaml", POD);
    repository.write("untracked.yaml", POD);
    repository.git(&["add", "staged.yaml"]);
    repository.git(&["add", "-N", "announced.yaml"]);
    repository.git(&["update-index", "--assume-unchanged", "d.yaml"]);
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    opened.snapshot_of_working_tree().unwrap();
    opened.changed(&head, &Side::WorkingTree).unwrap();
    let derived = load_commit(&opened, &head);
    let read = load_commit(&repository.open(), &head);
    assert_eq!(format!("{derived:#?}"), format!("{read:#?}"));
    assert_eq!(read.files.len(), 5);
}

/// Returns the files of `HEAD`, derived from the working tree; `None` if others must be read again.
fn derived_from_working_tree(repository: &TestRepository) -> Option<SourceSet> {
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    let snapshot = opened.snapshot_of_working_tree().unwrap();
    let set = load(&repository.root, snapshot.files());
    let changed = opened.changed(&head, &Side::WorkingTree).unwrap();
    let files = opened.snapshot_before(&snapshot, &changed)?.files();
    set.with_changed_contents(&snapshot.read_among(changed.paths()), &files)
}

/// Returns a repository with a change of the working tree.
fn changed_working_tree() -> TestRepository {
    let repository = TestRepository::new();
    repository.write(".gitignore", "ignored/\n");
    repository.write("a/web.yaml", POD);
    repository.write("a/other.yaml", POD);
    repository.write(
        "kustomization.yaml",
        "resources: [a/web.yaml, missing.yaml, empty]\n",
    );
    repository.commit("one");
    repository.write("a/web.yaml", format!("{POD}# changed\n"));
    repository
}

#[test]
fn a_commit_follows_from_a_working_tree_without_other_files() {
    let repository = changed_working_tree();
    let derived = derived_from_working_tree(&repository).unwrap();
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    let read = load_commit(&opened, &head);
    assert_eq!(format!("{derived:#?}"), format!("{read:#?}"));
    assert_eq!(&*derived.file("a/web.yaml").unwrap().text, POD);
}

#[test]
fn a_commit_does_not_follow_from_a_working_tree_with_other_files() {
    let folder = |repository: &TestRepository, name: &str| {
        fs::create_dir(repository.root.join(name)).unwrap();
    };
    let changes: [&dyn Fn(&TestRepository); 8] = [
        &|repository| repository.write("b.yaml", POD),
        &|repository| repository.write("a/notes.txt", "text"),
        &|repository| repository.write("ignored/b.yaml", POD),
        &|repository| repository.write("a/.gitignore", "other.yaml\n"),
        &|repository| folder(repository, "empty"),
        &|repository| symlink("a/web.yaml", repository.root.join("link.yaml")).unwrap(),
        &|repository| {
            repository.git(&["update-index", "--assume-unchanged", "a/other.yaml"]);
        },
        &|repository| {
            repository.git(&["rm", "-q", "--cached", "a/other.yaml"]);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let repository = changed_working_tree();
        change(&repository);
        assert!(derived_from_working_tree(&repository).is_none(), "{number}");
    }
}
