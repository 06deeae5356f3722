//! Which folder is used as a repository: never one that a commit can contain.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use meshprobe::git::{GitError, Repository};

use super::repository::{TestRepository, load_commit, run, write};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Returns a repository with two commits and the branch `base` at the first one.
fn repository() -> TestRepository {
    let repository = TestRepository::new();
    repository.write("deploy/a.yaml", CONFIG_MAP);
    repository.commit("one");
    repository.git(&["branch", "base"]);
    repository.write("deploy/a.yaml", format!("{CONFIG_MAP}# two\n"));
    repository.commit("two");
    repository
}

/// Moves the folder of git of a new repository in `folder` to another name, with these settings.
fn false_repository(folder: &Path, name: &str, settings: &[(&str, &str)]) -> PathBuf {
    let made = folder.join("made");
    fs::create_dir_all(&made).unwrap();
    run(&made, &["init", "-q"]);
    run(&made, &["commit", "-q", "--allow-empty", "-m", "false"]);
    for (key, value) in settings {
        run(&made, &["config", key, value]);
    }
    let git = folder.join(name);
    for entry in fs::read_dir(made.join(".git")).unwrap() {
        let entry = entry.unwrap();
        fs::create_dir_all(&git).unwrap();
        fs::rename(entry.path(), git.join(entry.file_name())).unwrap();
    }
    fs::remove_dir_all(made).unwrap();
    git
}

fn root_of(path: &Path) -> PathBuf {
    Repository::discover(path).unwrap().root().to_path_buf()
}

#[test]
fn a_folder_of_the_tree_that_looks_like_a_repository_is_not_used() {
    let repository = repository();
    let deploy = repository.root.join("deploy");
    repository.write("deploy/HEAD", "ref: refs/heads/base\n");
    repository.write("deploy/config", "[core]\n\tbare = true\n");
    for name in ["refs", "objects"] {
        symlink(format!("../.git/{name}"), deploy.join(name)).unwrap();
    }
    repository.commit("false");
    assert_eq!(
        run(&deploy, &["rev-parse", "HEAD"]),
        repository.git(&["rev-parse", "base"])
    );
    for path in [
        "deploy",
        "deploy/a.yaml",
        "deploy/absent/x.yaml",
        "deploy/refs/heads",
    ] {
        let path = repository.root.join(path);
        match Repository::discover(&path) {
            Ok(found) => {
                assert_eq!(found.root(), repository.root);
                let head = repository.git(&["rev-parse", "HEAD"]);
                assert_eq!(found.head().unwrap().hash, head);
            }
            Err(error) => assert!(
                matches!(error, GitError::InsideGitFolder(_)),
                "{path:?}: {error:?}"
            ),
        }
    }
}

#[test]
fn a_folder_of_the_tree_with_a_working_tree_is_not_used() {
    let repository = repository();
    for (folder, worktree) in [("deploy", "."), ("other", ".."), ("other/below", "../..")] {
        let folder = repository.root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let settings = [("core.bare", "false"), ("core.worktree", worktree)];
        false_repository(&folder, "", &settings);
        assert_eq!(root_of(&folder), repository.root);
    }
}

/// A commit cannot contain `.git`, but another program can write it, and the folder to which it leads can be of the commit.
#[test]
fn a_folder_of_git_in_another_working_tree_is_refused() {
    let repository = repository();
    let settings = [("core.bare", "false")];
    let git = false_repository(&repository.root, "data", &settings);
    repository.commit("data");
    let refused = |root: &str| {
        let error = Repository::discover(&repository.root.join(root)).unwrap_err();
        assert_eq!(
            error,
            GitError::InsideWorkingTree(git.clone(), repository.root.clone())
        );
        assert!(error.help().is_some());
    };
    repository.write("deploy/.git", "gitdir: ../data\n");
    refused("deploy");
    fs::create_dir(repository.root.join("linked")).unwrap();
    symlink("../data", repository.root.join("linked/.git")).unwrap();
    refused("linked");
    // The objects and references of a linked working tree are in another folder.
    repository.write("shared/.git/HEAD", "ref: refs/heads/main\n");
    repository.write("shared/.git/commondir", "../../data\n");
    refused("shared");
}

#[test]
fn an_incomplete_folder_of_git_is_skipped_as_git_does() {
    let repository = repository();
    fs::create_dir(repository.root.join("deploy/.git")).unwrap();
    assert_eq!(root_of(&repository.root.join("deploy")), repository.root);
    // The folder with it is not a bare repository either.
    false_repository(
        &repository.root.join("deploy"),
        "",
        &[("core.bare", "true")],
    );
    let error = Repository::discover(&repository.root.join("deploy")).unwrap_err();
    assert!(matches!(error, GitError::Failed(..)), "{error:?}");
    let outside = repository.next_to("outside");
    fs::create_dir_all(outside.join(".git")).unwrap();
    let error = Repository::discover(&outside).unwrap_err();
    assert!(matches!(error, GitError::NotARepository(_)), "{error:?}");
}

#[test]
fn a_bare_repository_is_used_only_outside_of_working_trees() {
    let repository = repository();
    let clone = |path: &Path| {
        let to = path.to_string_lossy();
        repository.git(&["clone", "-q", "--bare", ".", &to]);
    };
    let bare = repository.next_to("bare.git");
    clone(&bare);
    let opened = Repository::discover(&bare).unwrap();
    assert!(opened.is_bare() && opened.root() == bare);
    load_commit(&opened, &opened.resolve("base").unwrap());
    let error = Repository::discover(&bare.join("objects")).unwrap_err();
    assert!(matches!(error, GitError::NotARepository(_)), "{error:?}");
    let inside = repository.root.join("bare.git");
    clone(&inside);
    assert_eq!(root_of(&inside), repository.root);
}

#[test]
fn folders_of_git_with_other_names_are_used() {
    let repository = repository();
    let source = repository.root.to_string_lossy().into_owned();
    let workspace = repository.next_to("workspace");
    fs::create_dir(&workspace).unwrap();
    run(&workspace, &["clone", "-q", "--bare", &source, ".bare"]);
    write(&workspace, ".git", "gitdir: ./.bare\n");
    run(&workspace, &["worktree", "add", "-q", "main"]);
    assert_eq!(
        root_of(&workspace.join("main/deploy")),
        workspace.join("main")
    );
    assert!(Repository::discover(&workspace).unwrap().is_bare());
    let separate = repository.next_to("separate");
    let git = repository.next_to("folder-of-git");
    let [to, option] = [
        separate.to_string_lossy(),
        format!("--separate-git-dir={}", git.display()).into(),
    ];
    repository.git(&["clone", "-q", &option, &source, &to]);
    assert_eq!(root_of(&separate.join("deploy")), separate);
    // The same in the working tree of another repository, such as that of a home folder, which does not track them.
    let outer = repository.root.parent().unwrap();
    run(outer, &["init", "-q"]);
    assert_eq!(
        root_of(&workspace.join("main/deploy")),
        workspace.join("main")
    );
    assert_eq!(root_of(&separate.join("deploy")), separate);
    // A repository in the working tree of another one.
    let inner = repository.root.join("deploy/inner");
    repository.git(&["clone", "-q", &source, &inner.to_string_lossy()]);
    assert_eq!(root_of(&inner.join("deploy")), inner);
}

#[test]
fn objects_are_what_their_names_say() {
    let repository = repository();
    let name = |revision: &str| repository.git(&["rev-parse", revision]);
    let [base, head] = ["base", "HEAD"].map(name);
    let [old, new] = ["base:deploy/a.yaml", "HEAD:deploy/a.yaml"].map(name);
    repository.git(&["replace", &new, &old]);
    let read = |revision: &str| {
        let opened = repository.open();
        let set = load_commit(&opened, &opened.resolve(revision).unwrap());
        set.file("deploy/a.yaml").unwrap().text.to_string()
    };
    assert!(read(&head).ends_with("# two\n"));
    repository.git(&["replace", "-d", &new]);
    repository.git(&["replace", &head, &base]);
    assert!(read(&head).ends_with("# two\n"));
    repository.git(&["replace", "-d", &head]);
    repository.write(".git/info/grafts", format!("{head}\n"));
    let opened = repository.open();
    assert_eq!(opened.resolve("HEAD~1").unwrap().hash, base);
    let [one, other] = ["HEAD", "base"].map(|name| opened.resolve(name).unwrap());
    assert_eq!(opened.merge_base(&one, &other).unwrap().hash, base);
    let error = opened.resolve("absent").unwrap_err();
    assert_eq!(
        error,
        GitError::UnknownRevision("absent".to_owned(), String::new())
    );
}
