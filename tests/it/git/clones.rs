//! Clones that leave out a part of the history or of the objects.

use std::path::PathBuf;

use meshprobe::git::{GitError, Repository};

use super::repository::{TestRepository, load, load_commit, run};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Returns a repository with three commits, and a clone of it with more options.
fn cloned(options: &[&str]) -> (TestRepository, PathBuf) {
    let repository = TestRepository::new();
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    for number in ["one", "two", "three"] {
        repository.write("a.yaml", format!("{CONFIG_MAP}# {number}\n"));
        repository.write(&format!("folder/{number}.yaml"), CONFIG_MAP);
        repository.commit(number);
    }
    let url = format!("file://{}", repository.root.display());
    let clone = repository.next_to("clone");
    let path = clone.to_string_lossy().into_owned();
    let arguments = [&["clone", "-q"], options, &[&url, &path]].concat();
    repository.git(&arguments);
    (repository, clone)
}

#[test]
fn a_shallow_clone_names_what_to_fetch() {
    let (repository, clone) = cloned(&["--depth=1"]);
    let opened = Repository::discover(&clone).unwrap();
    let error = opened.resolve("HEAD~1").unwrap_err();
    assert_eq!(error, GitError::ShallowRevision("HEAD~1".to_owned()));
    let help = error.help().unwrap();
    assert!(help.contains("git fetch --deepen=100") && help.contains("--unshallow"));
    // A commit that was fetched without its history has no merge base.
    let first = repository.git(&["rev-parse", "HEAD~2"]);
    repository.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    run(&clone, &["fetch", "-q", "--depth=1", "origin", &first]);
    let [head, first] = ["HEAD", &first].map(|name| opened.resolve(name).unwrap());
    let error = opened.merge_base(&head, &first).unwrap_err();
    assert!(matches!(error, GitError::ShallowMergeBase(..)), "{error:?}");
    // Its files are complete.
    let set = load_commit(&opened, &first);
    assert!(set.file("a.yaml").unwrap().text.ends_with("# one\n"));
    assert_eq!(opened.default_base().unwrap().hash, head.hash);
}

#[test]
fn a_missing_object_of_a_partial_clone_is_an_error() {
    let (_repository, clone) = cloned(&["--filter=blob:none"]);
    let opened = Repository::discover(&clone).unwrap();
    let objects = || run(&clone, &["count-objects", "-v"]);
    let before = objects();
    let snapshot = opened.snapshot(&opened.resolve("HEAD~1").unwrap()).unwrap();
    load(&clone, snapshot.files());
    let (path, error) = snapshot.failure().unwrap();
    assert_eq!(path, clone.join("a.yaml"));
    assert!(
        matches!(
            error,
            GitError::MissingObject {
                is_partial: true,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(objects(), before, "an object was fetched");
    // The checked out objects are complete.
    load_commit(&opened, &opened.resolve("HEAD").unwrap());
}

#[test]
fn a_missing_tree_is_an_error() {
    let (_repository, clone) = cloned(&["--filter=tree:0"]);
    let opened = Repository::discover(&clone).unwrap();
    let error = opened
        .snapshot(&opened.resolve("HEAD~1").unwrap())
        .unwrap_err();
    assert!(
        matches!(
            error,
            GitError::MissingObject {
                is_partial: true,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_damaged_object_is_an_error() {
    let (repository, _) = cloned(&[]);
    let object = repository.git(&["rev-parse", "HEAD~1:a.yaml"]);
    let path = format!(".git/objects/{}/{}", &object[..2], &object[2..]);
    std::fs::remove_file(repository.root.join(&path)).unwrap();
    repository.write(&path, "damaged");
    let opened = repository.open();
    let snapshot = opened.snapshot(&opened.resolve("HEAD~1").unwrap()).unwrap();
    load(&repository.root, snapshot.files());
    let (failed, error) = snapshot.failure().unwrap();
    assert_eq!(failed, repository.root.join("a.yaml"));
    assert!(error.help().is_some() || !error.to_string().is_empty());
}

#[test]
fn objects_of_an_alternate_are_read() {
    let (_repository, clone) = cloned(&["--shared", "--no-checkout"]);
    let opened = Repository::discover(&clone).unwrap();
    let set = load_commit(&opened, &opened.resolve("HEAD~2").unwrap());
    assert!(set.file("a.yaml").unwrap().text.ends_with("# one\n"));
}
