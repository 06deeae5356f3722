//! Files that two states of a tree share.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use meshprobe::engine;
use meshprobe::git::{Repository, Side};
use meshprobe::source::{Request, SharedFiles, SourceFile, SourceSet};

use super::repository::{TestRepository, load, load_commit, request};

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";

/// Returns a repository whose last commit changes how unchanged files are used.
fn two_states() -> TestRepository {
    let repository = TestRepository::new();
    repository.write("app/web.yaml", DEPLOYMENT);
    repository.write("app/patch.yaml", DEPLOYMENT);
    repository.write("app/kustomization.yaml", "resources: [web.yaml]\n");
    repository.write(
        "chart/templates/a.yaml",
        format!("{DEPLOYMENT}# {{{{ .x }}}}\n"),
    );
    repository.write("other/kustomization.yaml", "resources: [../app]\n");
    repository.write("latin.yaml", b"apiVersion: v1\nkind: Pod\nx: \xff\n");
    repository.write("text.yaml", "a: b\n");
    symlink("app/web.yaml", repository.root.join("link.yaml")).unwrap();
    repository.commit("one");
    repository.write(
        "app/kustomization.yaml",
        "resources: [web.yaml]\npatches: [{path: patch.yaml}]\n",
    );
    repository.write("chart/Chart.yaml", "name: web\n");
    repository.write("text.yaml", "a: c\n");
    repository.write("new.yaml", DEPLOYMENT);
    repository
}

fn shares(one: &SourceSet, other: &SourceSet, path: &str) -> bool {
    let text = |set: &SourceSet| Arc::clone(&set.file(path).unwrap().text);
    Arc::ptr_eq(&text(one), &text(other))
}

#[test]
fn shared_files_equal_those_that_are_read_again() {
    let repository = two_states();
    let opened = repository.open();
    let head = opened.resolve("HEAD").unwrap();
    let after = load(&repository.root, Request::default().filesystem);
    let changed = opened.changed(&head, &Side::WorkingTree).unwrap();
    let snapshot = opened.snapshot(&head).unwrap();
    let shared = engine::load(&Request {
        shared: Some(Arc::new(SharedFiles::new(&after, changed))),
        ..request(&repository.root, snapshot.files())
    });
    let alone = load_commit(&opened, &head);
    assert_eq!(format!("{shared:#?}"), format!("{alone:#?}"));
    for path in ["app/web.yaml", "app/patch.yaml", "other/kustomization.yaml"] {
        assert!(shares(&shared, &after, path), "{path}");
    }
    // A file that could not be read has a place of its own in each state.
    for path in ["app/kustomization.yaml", "text.yaml", "latin.yaml"] {
        assert!(!shares(&shared, &after, path), "{path}");
    }
    let is_patch = |file: &SourceFile| file.documents.iter().any(|document| document.patch);
    let patch = |set: &SourceSet| is_patch(set.file("app/patch.yaml").unwrap());
    assert!(patch(&after) && !patch(&shared));
    // It is a template only where `Chart.yaml` exists.
    assert!(!shares(&shared, &after, "chart/templates/a.yaml"));
    assert!(shared.file("new.yaml").is_none());
}

/// Removes an object from a repository, so that it cannot be read.
fn remove_object(repository: &TestRepository, revision: &str) {
    let object = repository.git(&["rev-parse", revision]);
    let (folder, file) = object.split_at(2);
    let path = repository.root.join(".git/objects").join(folder);
    std::fs::remove_file(path.join(file)).unwrap();
}

#[test]
fn content_that_the_working_tree_has_is_not_read_from_objects() {
    let repository = TestRepository::new();
    repository.write("web.yaml", DEPLOYMENT);
    repository.write("sub/web.yaml", format!("{DEPLOYMENT}# other\n"));
    repository.commit("one");
    for path in ["HEAD:web.yaml", "HEAD:sub/web.yaml"] {
        remove_object(&repository, path);
    }
    let head = |opened: &Repository| opened.resolve("HEAD").unwrap();
    let opened = repository.open();
    let set = load_commit(&opened, &head(&opened));
    assert_eq!(&*set.file("web.yaml").unwrap().text, DEPLOYMENT);
    assert!(
        set.file("sub/web.yaml")
            .unwrap()
            .text
            .ends_with("# other\n")
    );
    // A link to the same content is another path.
    let path = repository.root.join("web.yaml");
    std::fs::rename(&path, repository.root.join("moved.txt")).unwrap();
    symlink("moved.txt", &path).unwrap();
    let snapshot = opened.snapshot(&head(&opened)).unwrap();
    load(&repository.root, snapshot.files());
    assert_eq!(snapshot.failure().unwrap().0, path);
    std::fs::remove_file(&path).unwrap();
    repository.write("web.yaml", format!("{DEPLOYMENT}# changed\n"));
    let snapshot = opened.snapshot(&head(&opened)).unwrap();
    load(&repository.root, snapshot.files());
    assert_eq!(snapshot.failure().unwrap().0, path);
}

#[test]
fn converted_content_of_the_working_tree_is_not_that_of_the_object() {
    let repository = TestRepository::new();
    repository.git(&["config", "core.autocrlf", "true"]);
    repository.write("web.yaml", DEPLOYMENT.replace('\n', "\r\n"));
    repository.write("id.yaml", format!("{DEPLOYMENT}# $Id$\n"));
    repository.write(".gitattributes", "id.yaml ident\n");
    repository.commit("one");
    std::fs::remove_file(repository.root.join("id.yaml")).unwrap();
    repository.git(&["checkout", "-q", "id.yaml"]);
    let on_disk = std::fs::read_to_string(repository.root.join("id.yaml")).unwrap();
    assert!(on_disk.contains("$Id: "), "{on_disk}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    let opened = repository.open();
    let set = load_commit(&opened, &opened.resolve("HEAD").unwrap());
    assert_eq!(&*set.file("web.yaml").unwrap().text, DEPLOYMENT);
    assert!(set.file("id.yaml").unwrap().text.ends_with("# $Id$\n"));
}
