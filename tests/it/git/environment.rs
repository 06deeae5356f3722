//! The environment of the process, which hooks of git set.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use meshprobe::git::{GitError, Repository};

use super::repository::{TestRepository, load};

/// Variable with the folder in which [`probe`] opens a repository.
const FOLDER: &str = "MESHPROBE_TEST_REPOSITORY";

/// Start of the line that [`probe`] prints.
const RESULT: &str = "\nresult: ";

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// Prints the staged files of a repository, or the error about it. The other tests run it with variables.
#[test]
#[ignore = "run by the other tests"]
fn probe() {
    let Some(folder) = env::var_os(FOLDER) else {
        return;
    };
    let names = |repository: Repository| -> Result<Vec<String>, GitError> {
        let snapshot = repository.snapshot_of_index()?;
        let set = load(repository.root(), snapshot.files());
        Ok(set.files.iter().map(|file| file.path.to_string()).collect())
    };
    let found = Repository::discover(Path::new(&folder)).and_then(names);
    println!("{RESULT}{found:?}");
}

/// Returns the result of [`probe`] in a repository.
fn probed(repository: &TestRepository, variables: &[(&str, &Path)]) -> String {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([
        "git::environment::probe",
        "--exact",
        "--ignored",
        "--nocapture",
    ]);
    child
        .env(FOLDER, &repository.root)
        .current_dir(&repository.root);
    child.envs(variables.iter().copied());
    let output = child.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, rest) = text.split_once(RESULT).unwrap();
    rest.lines().next().unwrap().to_owned()
}

fn repository_with(name: &str) -> TestRepository {
    let repository = TestRepository::new();
    repository.write(name, CONFIG_MAP);
    repository.commit("one");
    repository
}

#[test]
fn variables_of_git_do_not_select_another_repository() {
    let (repository, other) = (repository_with("a.yaml"), repository_with("other.yaml"));
    let git = other.root.join(".git");
    let index = git.join("index");
    for variables in [
        &[("GIT_DIR", git.as_path()), ("GIT_WORK_TREE", &other.root)][..],
        &[("GIT_COMMON_DIR", &git)],
        &[("GIT_INDEX_FILE", &index)],
        &[
            ("GIT_LITERAL_PATHSPECS", Path::new("0")),
            ("GIT_ICASE_PATHSPECS", Path::new("1")),
        ],
    ] {
        assert_eq!(
            probed(&repository, variables),
            "Ok([\"a.yaml\"])",
            "{variables:?}"
        );
    }
}

/// `git commit --all` and `git commit PATH` write the files of the commit into another index.
#[test]
fn the_index_that_a_hook_names_is_used() {
    let repository = repository_with("a.yaml");
    let index = repository.root.join(".git/index");
    fs::copy(&index, repository.root.join(".git/next-index")).unwrap();
    repository.write("b.yaml", CONFIG_MAP);
    repository.git(&["add", "b.yaml"]);
    assert_eq!(probed(&repository, &[]), "Ok([\"a.yaml\", \"b.yaml\"])");
    for path in [
        Path::new(".git/next-index"),
        &repository.root.join(".git/next-index"),
    ] {
        assert_eq!(
            probed(&repository, &[("GIT_INDEX_FILE", path)]),
            "Ok([\"a.yaml\"])"
        );
    }
}

#[test]
fn a_repository_of_another_user_is_not_read() {
    let repository = repository_with("a.yaml");
    let variable = ("GIT_TEST_ASSUME_DIFFERENT_OWNER", Path::new("1"));
    let found = probed(&repository, &[variable]);
    assert!(found.starts_with("Err(DubiousOwnership("), "{found}");
}

#[test]
fn a_missing_git_is_reported() {
    let repository = repository_with("a.yaml");
    let found = probed(&repository, &[("PATH", Path::new("/nonexistent"))]);
    assert_eq!(found, "Err(NotInstalled)");
}
