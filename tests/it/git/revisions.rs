//! Names of revisions, and the errors about them.

use std::fs;

use meshprobe::git::{GitError, Repository};

use super::repository::{TestRepository, try_run};

/// Returns a repository with two commits on `main`.
fn two_commits() -> TestRepository {
    let repository = TestRepository::new();
    for number in ["one", "two"] {
        repository.write("a.yaml", number);
        repository.commit(number);
    }
    repository
}

#[test]
fn revisions_are_resolved_to_commits() {
    let repository = two_commits();
    repository.git(&["tag", "-a", "v1", "-m", "first", "HEAD~1"]);
    repository.git(&["pack-refs", "--all"]);
    let opened = Repository::discover(&repository.root.join("a.yaml/missing")).unwrap();
    assert_eq!(opened.root(), repository.root);
    let first = repository.git(&["rev-parse", "HEAD~1"]);
    let short = first[..8].to_owned();
    for name in [
        "v1",
        "HEAD~1",
        "main^",
        &short,
        &first,
        "v1^{}",
        "refs/tags/v1",
    ] {
        let commit = opened.resolve(name).unwrap();
        assert_eq!(
            (commit.hash.as_str(), commit.name.as_str()),
            (first.as_str(), name)
        );
        assert!(first.starts_with(&commit.short) && commit.short.len() < 20);
    }
    let unknown = |name: &str| match opened.resolve(name) {
        Err(GitError::UnknownRevision(unknown, message)) => (unknown, message),
        other => panic!("{name}: {other:?}"),
    };
    for name in [
        "v2",
        "HEAD~7",
        "HEAD:a.yaml",
        "v1..main",
        "main\n",
        "a b",
        &"0".repeat(40),
    ] {
        assert_eq!(unknown(name), (name.to_owned(), String::new()));
    }
    for name in ["", "--all", "-h", "--output=x", "a\0b"] {
        assert!(unknown(name).1.contains("starts with `-`"), "{name}");
    }
    assert!(!repository.root.join("x").exists());
}

#[test]
fn an_ambiguous_hash_is_reported_as_such() {
    let repository = TestRepository::new();
    // With so many objects, two of them have the same first four digits.
    for number in 0..40 {
        for file in 0..20 {
            repository.write(&format!("{file}"), format!("{number} {file}"));
        }
        repository.git(&["add", "-A"]);
    }
    repository.commit("one");
    let objects = repository.git(&[
        "cat-file",
        "--batch-check=%(objectname)",
        "--batch-all-objects",
    ]);
    let mut starts: Vec<&str> = objects.lines().map(|object| &object[..4]).collect();
    starts.sort_unstable();
    let repeated = starts.windows(2).find(|pair| pair[0] == pair[1]).unwrap()[0];
    let error = repository.open().resolve(repeated).unwrap_err();
    assert!(error.to_string().contains("ambiguous"), "{error}");
}

#[test]
fn the_default_base_is_the_merge_base_with_the_default_branch() {
    let repository = two_commits();
    let opened = repository.open();
    let no_branch = GitError::NoDefaultBranch { is_shallow: false };
    assert_eq!(opened.default_base(), Err(no_branch));
    let base = repository.git(&["rev-parse", "HEAD"]);
    // The branch of the remote has a commit that is not in `HEAD`.
    repository.write("a.yaml", "three");
    repository.commit("three");
    let remote = |name: &str, branch: &str| {
        let reference = format!("refs/remotes/{name}/{branch}");
        repository.git(&["update-ref", &reference, "main"]);
    };
    repository.git(&["remote", "add", "fork", "https://example.org/x"]);
    remote("fork", "main");
    repository.git(&["checkout", "-q", "-b", "topic", "HEAD~1"]);
    repository.commit("topic");
    let default_base = || {
        let commit = opened.default_base().unwrap();
        assert_eq!(commit.hash, base);
        commit.name
    };
    assert_eq!(default_base(), "merge base of HEAD and fork/main");
    // Of two remotes, only `origin` is used; without its branches, the upstream of the branch.
    repository.git(&["remote", "add", "origin", "https://example.org/y"]);
    assert!(matches!(
        opened.default_base(),
        Err(GitError::NoDefaultBranch { .. })
    ));
    repository.git(&["branch", "-q", "--set-upstream-to=main"]);
    assert_eq!(default_base(), "merge base of HEAD and main");
    remote("origin", "master");
    assert_eq!(default_base(), "merge base of HEAD and origin/master");
    remote("origin", "main");
    assert_eq!(default_base(), "merge base of HEAD and origin/main");
    remote("origin", "release");
    let head = "refs/remotes/origin/HEAD";
    repository.git(&["symbolic-ref", head, "refs/remotes/origin/release"]);
    assert_eq!(default_base(), "merge base of HEAD and origin/release");
    // A reference to a deleted branch is skipped.
    repository.git(&["symbolic-ref", head, "refs/remotes/origin/deleted"]);
    assert_eq!(default_base(), "merge base of HEAD and origin/main");
}

#[test]
fn unrelated_histories_have_no_merge_base() {
    let repository = two_commits();
    repository.git(&["checkout", "-q", "--orphan", "other"]);
    repository.commit("other");
    let opened = repository.open();
    let [main, other] = ["main", "other"].map(|name| opened.resolve(name).unwrap());
    let error = opened.merge_base(&main, &other).unwrap_err();
    assert_eq!(
        error,
        GitError::NoMergeBase("main".to_owned(), "other".to_owned())
    );
    assert!(error.help().is_some());
}

#[test]
fn places_without_commits_are_reported() {
    let repository = TestRepository::new();
    let opened = repository.open();
    assert_eq!(opened.resolve("HEAD"), Err(GitError::NoCommits));
    assert_eq!(opened.default_base(), Err(GitError::NoCommits));
    let outside = repository.next_to("outside");
    fs::create_dir(&outside).unwrap();
    let error = Repository::discover(&outside).unwrap_err();
    assert!(matches!(error, GitError::NotARepository(_)), "{error:?}");
    let error = Repository::discover(&repository.root.join(".git/objects")).unwrap_err();
    assert!(matches!(error, GitError::InsideGitFolder(_)), "{error:?}");
}

#[test]
fn a_path_that_git_does_not_check_out_is_an_error() {
    let repository = two_commits();
    let object = repository.git(&["rev-parse", "HEAD:a.yaml"]);
    let tree = |name: &str| {
        let entry = format!("100644 blob {object}\t{name}\n");
        let file = repository.next_to("entry");
        fs::write(&file, entry).unwrap();
        let script = format!("git mktree --missing < '{}'", file.display());
        let made = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(&repository.root)
            .output()
            .unwrap();
        let tree = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        assert!(!tree.is_empty(), "{made:?}");
        repository.git(&["commit-tree", "-m", "x", &tree])
    };
    for name in [".git", "..", ".GIT"] {
        let commit = tree(name);
        let opened = repository.open();
        let error = opened
            .snapshot(&opened.resolve(&commit).unwrap())
            .unwrap_err();
        assert_eq!(error, GitError::InvalidPath(name.to_owned()));
    }
}

#[test]
fn a_merge_conflict_in_the_index_is_an_error() {
    let repository = two_commits();
    repository.git(&["checkout", "-q", "-b", "topic", "HEAD~1"]);
    repository.write("a.yaml", "three");
    repository.commit("three");
    assert!(
        !try_run(&repository.root, &["merge", "-q", "main"])
            .status
            .success()
    );
    let error = repository.open().snapshot_of_index().unwrap_err();
    assert_eq!(error, GitError::Unmerged("a.yaml".to_owned()));
}
