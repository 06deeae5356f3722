//! A revision that is read from objects is the same as a checkout of it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use meshprobe::filesystem::FileSystem;
use meshprobe::git::Repository;
use meshprobe::source::Fault;

use super::repository::{TestRepository, assert_like_checkout, load, load_commit, run, write};

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        livenessProbe: {httpGet: {path: /, port: 80}}\n";
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Writes files of every kind that a run distinguishes.
fn write_everything(root: &Path) {
    write(root, "apps/base/web.yaml", DEPLOYMENT);
    write(
        root,
        "apps/base/kustomization.yaml",
        "resources: [web.yaml]\n",
    );
    let long = "x".repeat(300);
    let overlay = format!(
        "resources:\n- ../../apps/base\n- missing.yaml\n- all.yaml\n- {long}\n- ../../../outside\n- ../../apps/base/\n\
         - linked-base\n- ../../apps/base/web.yaml/\npatches:\n- path: patch.yaml\n- path: linked-patch.yaml\n"
    );
    write(root, "overlays/prod/kustomization.yaml", overlay);
    write(root, "overlays/prod/patch.yaml", DEPLOYMENT);
    write(root, "overlays/prod/Makefile", "all:\n\tcat > all.yaml\n");
    symlink("../../apps/base", root.join("overlays/prod/linked-base")).unwrap();
    symlink("patch.yaml", root.join("overlays/prod/linked-patch.yaml")).unwrap();
    fs::create_dir_all(root.join("overlays/linked")).unwrap();
    symlink(
        "../prod/kustomization.yaml",
        root.join("overlays/linked/kustomization.yaml"),
    )
    .unwrap();
    for (link, target) in [
        ("shared", "apps/base"),
        ("gone.yaml", "nowhere.yaml"),
        ("out.yaml", "../../etc/hosts"),
        ("absolute.yaml", "/etc/hostname"),
        ("loop.yaml", "loop.yaml"),
        ("through.yaml", "shared/web.yaml"),
        ("up", "apps/base/../.."),
        ("not-a-folder.yaml", "apps/base/web.yaml/x"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    write(root, ".gitignore", "ignored/\n*.gen.yaml\n");
    write(root, "ignored/tracked.yaml", CONFIG_MAP);
    write(root, "apps/.ignore", "hidden.yaml\n");
    write(root, "apps/hidden.yaml", CONFIG_MAP);
    write(
        root,
        "chart/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    );
    write(root, "chart/values.yaml", "port: 80\n");
    write(
        root,
        "chart/templates/web.yaml",
        format!("{DEPLOYMENT}# {{{{ .Values.port }}}}\n"),
    );
    write(root, "other/.meshprobe.yaml", "spec: {root: true}\n");
    write(root, "other/a.yaml", CONFIG_MAP);
    write(root, "empty.yaml", "");
    write(
        root,
        "windows.yaml",
        "apiVersion: v1\r\nkind: ConfigMap\r\n",
    );
    write(root, "latin.yaml", b"apiVersion: v1\nkind: Pod\nx: \xff\n");
    write(root, "run.sh", "#!/bin/sh\n");
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(
        root.join(std::ffi::OsStr::from_bytes(b"n\xff.yaml")),
        CONFIG_MAP,
    )
    .unwrap();
    write(root, "with space\nand line.yaml", CONFIG_MAP);
    write(
        root,
        "large.yaml",
        format!("{CONFIG_MAP}data:\n  x: {}\n", "y".repeat(100_000)),
    );
    for number in 0..1_000 {
        write(
            root,
            &format!("many/{}/{number}.yaml", number % 30),
            CONFIG_MAP,
        );
    }
}

/// Adds a commit in which almost everything differs, and files that git does not track.
fn change_everything(repository: &TestRepository) {
    let root = &repository.root;
    for path in ["apps", "overlays", "ignored", "chart", "many/3"] {
        fs::remove_dir_all(root.join(path)).unwrap();
    }
    for path in ["shared", "gone.yaml", "loop.yaml", ".gitignore"] {
        fs::remove_file(root.join(path)).unwrap();
    }
    // The kinds of some paths change.
    repository.write("shared/a.yaml", CONFIG_MAP);
    repository.write("chart", CONFIG_MAP);
    symlink("other", root.join("apps")).unwrap();
    repository.write("new/kustomization.yaml", "resources: [a.yaml]\n");
    repository.commit("two");
    repository.write("new/a.yaml", CONFIG_MAP);
    repository.write("untracked.yaml", CONFIG_MAP);
    repository.write("ignored/tracked.yaml", "changed: true\n");
}

fn everything(format: &str) -> TestRepository {
    let repository = TestRepository::with_format(format);
    let other = repository.next_to("sub");
    fs::create_dir(&other).unwrap();
    run(
        &other,
        &["init", "-q", &format!("--object-format={format}")],
    );
    write(&other, "deploy/web.yaml", DEPLOYMENT);
    symlink("../web.yaml", other.join("deploy/out.yaml")).unwrap();
    run(&other, &["add", "-A"]);
    run(&other, &["commit", "-qm", "one"]);
    write_everything(&repository.root);
    let url = other.to_string_lossy().into_owned();
    repository.git(&["submodule", "--quiet", "add", &url, "modules/sub"]);
    repository.git(&["add", "-f", "ignored"]);
    repository.commit("one");
    change_everything(&repository);
    repository
}

#[test]
fn a_commit_is_read_like_a_checkout() {
    let repository = everything("sha1");
    assert_like_checkout(&repository.root, "HEAD~1");
    assert_like_checkout(&repository.root, "main");
}

#[test]
fn a_commit_of_a_repository_with_sha256_is_read_like_a_checkout() {
    let repository = everything("sha256");
    assert_like_checkout(&repository.root, "HEAD~1");
}

#[test]
fn links_are_files_where_git_checks_them_out_as_files() {
    let repository = TestRepository::new();
    repository.write("a.yaml", CONFIG_MAP);
    symlink("a.yaml", repository.root.join("link.yaml")).unwrap();
    repository.commit("one");
    repository.git(&["config", "core.symlinks", "false"]);
    fs::remove_file(repository.root.join("link.yaml")).unwrap();
    repository.commit("two");
    assert_like_checkout(&repository.root, "HEAD~1");
    let set = load(&repository.root, FileSystem::default());
    assert_eq!(&*set.file("link.yaml").unwrap().text, "a.yaml");
}

#[test]
fn a_commit_is_read_like_a_checkout_of_a_linked_worktree() {
    let repository = everything("sha1");
    let linked = repository.next_to("linked");
    let path = linked.to_string_lossy().into_owned();
    repository.git(&["worktree", "add", "-q", "--detach", &path, "main"]);
    run(&linked, &["submodule", "update", "-q", "--init"]);
    assert_eq!(Repository::discover(&linked).unwrap().root(), linked);
    assert_like_checkout(&linked, "HEAD~1");
}

#[test]
fn a_bare_repository_has_the_files_of_the_commit() {
    let repository = everything("sha1");
    repository.git(&["checkout", "-qf", "HEAD~1"]);
    repository.git(&["clean", "-qffdx"]);
    let expected = load(&repository.root, FileSystem::default());
    let bare = repository.next_to("bare.git");
    let (from, to) = (repository.root.to_string_lossy(), bare.to_string_lossy());
    repository.git(&["clone", "-q", "--bare", &from, &to]);
    let opened = Repository::discover(&bare).unwrap();
    assert!(opened.is_bare() && opened.root() == bare);
    let commit = opened.resolve("main~1").unwrap();
    let snapshot = opened.snapshot(&commit).unwrap();
    assert_eq!(snapshot.submodules(), [bare.join("modules/sub")]);
    let read = load(&bare, snapshot.files());
    assert_eq!(snapshot.failure(), None);
    let text = |set: &meshprobe::source::SourceSet| -> Vec<(String, String)> {
        let files = set
            .files
            .iter()
            .filter(|file| !file.path.starts_with("modules/"));
        files
            .map(|file| (file.path.to_string(), file.text.to_string()))
            .collect()
    };
    assert_eq!(text(&read), text(&expected));
}

#[test]
fn files_of_submodules_are_those_of_the_working_tree() {
    let repository = TestRepository::new();
    let other = TestRepository::new();
    other.write("web.yaml", DEPLOYMENT);
    other.commit("one");
    let url = other.root.to_string_lossy().into_owned();
    repository.git(&["submodule", "--quiet", "add", &url, "modules/sub"]);
    repository.commit("one");
    repository.write("modules/sub/web.yaml", CONFIG_MAP);
    repository.write("modules/sub/ignored.yaml", CONFIG_MAP);
    repository.write("modules/sub/.gitignore", "ignored.yaml\n");
    let texts = |set: &meshprobe::source::SourceSet| -> Vec<(String, String)> {
        let files = set.files.iter();
        files
            .map(|file| (file.path.to_string(), file.text.to_string()))
            .collect()
    };
    let disk = texts(&load(&repository.root, FileSystem::default()));
    assert!(disk.contains(&("modules/sub/web.yaml".to_owned(), CONFIG_MAP.to_owned())));
    assert!(
        disk.iter()
            .all(|(path, _)| path != "modules/sub/ignored.yaml")
    );
    let read = |repository: &Repository| {
        let commit = repository.resolve("HEAD").unwrap();
        let snapshot = repository.snapshot(&commit).unwrap();
        let set = load(repository.root(), snapshot.files());
        assert_eq!(snapshot.failure(), None);
        assert_eq!(
            snapshot.submodules(),
            [repository.root().join("modules/sub")]
        );
        texts(&set)
    };
    assert_eq!(read(&repository.open()), disk);
    // Neither a clone without submodules nor a bare one has their files.
    let from = repository.root.to_string_lossy().into_owned();
    for options in [&["-q"][..], &["-q", "--bare"]] {
        let clone = repository.next_to(&format!("clone{}", options.len()));
        let to = clone.to_string_lossy().into_owned();
        repository.git(&[&["clone"], options, &[&from, &to]].concat());
        let found = read(&Repository::discover(&clone).unwrap());
        assert!(found.iter().all(|(path, _)| !path.starts_with("modules/")));
    }
}

#[test]
fn line_breaks_are_those_of_the_objects() {
    let repository = TestRepository::new();
    repository.git(&["config", "core.autocrlf", "true"]);
    repository.write("a.yaml", DEPLOYMENT.replace('\n', "\r\n"));
    repository.commit("one");
    repository.write("a.yaml", CONFIG_MAP.replace('\n', "\r\n"));
    repository.commit("two");
    let opened = repository.open();
    let read = load_commit(&opened, &opened.resolve("HEAD~1").unwrap());
    assert_eq!(&*read.file("a.yaml").unwrap().text, DEPLOYMENT);
    repository.git(&["checkout", "-q", "HEAD~1"]);
    let checkout = load(&repository.root, FileSystem::default());
    assert_eq!(
        &*checkout.file("a.yaml").unwrap().text,
        DEPLOYMENT.replace('\n', "\r\n")
    );
}

#[test]
fn pointers_of_git_lfs_are_not_followed() {
    let repository = TestRepository::new();
    let object = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 7\n");
    repository.write("a.yaml", pointer);
    repository.commit("one");
    let opened = repository.open();
    let set = load_commit(&opened, &opened.resolve("HEAD").unwrap());
    let fault = set.file("a.yaml").unwrap().fault.clone();
    assert!(
        matches!(&fault, Some(Fault::Unreadable(reason)) if reason.contains("git lfs pull")),
        "{fault:?}"
    );
}

#[test]
fn the_index_has_the_staged_files() {
    let repository = TestRepository::new();
    repository.write("new.yaml", CONFIG_MAP);
    repository.git(&["add", "new.yaml"]);
    let names = || -> Vec<String> {
        let snapshot = repository.open().snapshot_of_index().unwrap();
        let set = load(&repository.root, snapshot.files());
        assert_eq!(snapshot.failure(), None);
        set.files
            .iter()
            .map(|file| format!("{} {}", file.path, file.text.len()))
            .collect()
    };
    // The repository has no commit.
    assert_eq!(names(), [format!("new.yaml {}", CONFIG_MAP.len())]);
    repository.commit("one");
    for path in [
        "new.yaml",
        "announced.yaml",
        "staged.yaml",
        "untracked.yaml",
    ] {
        repository.write(path, DEPLOYMENT);
    }
    repository.git(&["add", "-N", "announced.yaml"]);
    repository.git(&["add", "staged.yaml"]);
    let expected = [
        ("new.yaml", CONFIG_MAP.len()),
        ("staged.yaml", DEPLOYMENT.len()),
    ];
    assert_eq!(
        names(),
        expected.map(|(name, length)| format!("{name} {length}"))
    );
    repository.git(&["rm", "-q", "--cached", "new.yaml"]);
    assert_eq!(names(), [format!("staged.yaml {}", DEPLOYMENT.len())]);
}
