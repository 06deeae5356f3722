//! A set of files after the contents of some files have changed.

use std::fs;

use meshprobe::git::{Commit, Repository, Side};
use meshprobe::source::SourceSet;

use super::renderings::copy;
use super::repository::{TestRepository, load_commit};
use crate::support::fixture;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n";

/// Returns the last two commits of a repository.
fn last_commits(opened: &Repository) -> [Commit; 2] {
    ["HEAD~1", "HEAD"].map(|name| opened.resolve(name).unwrap())
}

/// Returns the files before the last commit, derived from those after it; `None` if others must be read again.
fn derived(opened: &Repository) -> Option<SourceSet> {
    let [before, after] = last_commits(opened);
    let set = load_commit(opened, &after);
    let changed = opened.changed(&before, &Side::Commit(after)).unwrap();
    let files = opened.snapshot(&before).unwrap().files();
    set.with_changed_contents(&changed.paths(), &files)
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

/// Returns whether the state before a change of some files can be derived from the state after it. If so, it equals the
/// state that is read.
fn is_derived_after(changes: &[(&str, &str)]) -> bool {
    let repository = TestRepository::new();
    repository.write("web.yaml", POD);
    repository.write(
        "chart/Chart.yaml",
        "{apiVersion: v2, name: chart, version: 1.0.0}\n",
    );
    repository.write("chart/templates/web.yaml", POD);
    repository.write("kustomization.yaml", "resources: [web.yaml]\n");
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
fn an_origin_may_be_recorded_if_it_is_not_found() {
    let of_chart = |name: &str| format!("# Source: {name}/templates/web.yaml\n{POD}");
    assert!(is_derived_after(&[("web.yaml", &of_chart("absent"))]));
    assert!(!is_derived_after(&[("web.yaml", &of_chart("chart"))]));
}

#[test]
fn a_kustomization_decides_which_files_are_read() {
    let text = "resources: [web.yaml]\nimages: [{name: nginx, newTag: '1'}]\n";
    assert!(!is_derived_after(&[("kustomization.yaml", text)]));
}
