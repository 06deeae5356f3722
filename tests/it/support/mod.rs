//! Shared helpers: runs of the program, projects on disk, the real kustomize.
#![allow(dead_code, reason = "not every platform runs every test")]

mod fixtures;
pub(crate) mod manifest;
pub(crate) mod predictions;
mod process;
mod program;
pub(crate) mod project;
pub(crate) mod rendered_text;
pub(crate) mod rule_docs;
pub(crate) mod rust_code;

use std::path::Path;

use serde_json::Value;

pub(crate) use fixtures::{case_folders, fixture};
pub(crate) use process::{PROGRAM, command, run};
pub(crate) use program::{Run, meshprobe};

/// Returns the findings of a JSON report.
pub(crate) fn findings(run: &Run) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", run.stdout, run.stderr));
    report.get("findings").unwrap().as_array().unwrap().clone()
}

/// Returns the comments of a text, sorted. Suitable for fixtures, whose strings contain no ` #`.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .lines()
        .filter_map(|line| {
            let at = if line.trim_start().starts_with('#') {
                line.find('#')
            } else {
                line.find(" #")
            };
            Some(line.get(at?..)?.trim().to_owned())
        })
        .collect();
    found.sort();
    found
}

/// Checks that every changed line of `path` is covered by an edit of `findings`.
pub(crate) fn outside_edits(path: &str, before: &str, after: &str, findings: &[&Value]) {
    let mut covered = vec![false; before.lines().count() + 2];
    for finding in findings {
        let edits = finding.pointer("/fix/edits").unwrap().as_array().unwrap();
        let in_path = |edit: &&Value| edit.get("path").and_then(Value::as_str) == Some(path);
        for edit in edits.iter().filter(in_path) {
            let offset =
                |name: &str| usize::try_from(edit.get(name).unwrap().as_u64().unwrap()).unwrap();
            let line = |at: usize| before.get(..at).unwrap().matches('\n').count();
            for line in line(offset("start"))..=line(offset("end")) {
                *covered.get_mut(line).unwrap() = true;
            }
        }
    }
    let diff = similar::TextDiff::from_lines(before, after);
    for change in diff.iter_all_changes() {
        if let (similar::ChangeTag::Delete, Some(line)) = (change.tag(), change.old_index()) {
            assert!(
                covered.get(line).unwrap(),
                "line {} changed, but no edit covers it",
                line + 1
            );
        }
    }
}

/// Returns the folder in which `.ci/tools.sh` installs the locked version of a Go program, if it exists.
fn installed(name: &str, package: &str) -> Option<std::path::PathBuf> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!(".ci/tools/{name}/go.mod"));
    let module = std::fs::read_to_string(module).unwrap();
    let mut words = module
        .split_whitespace()
        .skip_while(|word| *word != "require");
    words.find(|word| *word == package)?;
    let prefix = format!("{name}-{}-", words.next()?);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(std::path::PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let tools = cache.or(home)?.join("meshprobe/tools");
    let folders = std::fs::read_dir(tools).ok()?.filter_map(Result::ok);
    let mut folders = folders.map(|folder| folder.path());
    folders.find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    })
}

/// Returns the path of the program in `tests/kubectl_yaml`; if it is missing, prints a message, and fails in CI.
pub(crate) fn kubectl_yaml() -> Option<std::path::PathBuf> {
    let program = std::env::var_os("MESHPROBE_KUBECTL_YAML").map(std::path::PathBuf::from);
    if program.is_none() {
        let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!in_ci, "MESHPROBE_KUBECTL_YAML is not set");
        eprintln!("skipped: MESHPROBE_KUBECTL_YAML is not set; run `source .ci/tools.sh` first");
    }
    program
}

/// Returns the real kustomize to compare with; if it is missing, prints a message, and fails in CI.
pub(crate) fn kustomize() -> Option<std::path::PathBuf> {
    let given = std::env::var_os("MESHPROBE_KUSTOMIZE").map(std::path::PathBuf::from);
    let own = installed("kustomize", "sigs.k8s.io/kustomize/kustomize/v5");
    program("kustomize", given, own)
}

/// Returns the real helm; if it is missing, prints a message, and fails in CI.
pub(crate) fn helm() -> Option<std::path::PathBuf> {
    program("helm", None, installed("helm", "helm.sh/helm/v3"))
}

/// Returns the first of: a given program, one in a folder of `.ci/tools.sh`, and one on the PATH.
fn program(
    name: &str,
    given: Option<std::path::PathBuf>,
    own: Option<std::path::PathBuf>,
) -> Option<std::path::PathBuf> {
    let own = own.map(|folder| folder.join(name));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join(name));
    let mut candidates = given.into_iter().chain(own).chain(on_path);
    let found = candidates.find(|path| path.is_file());
    if found.is_none() {
        let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!in_ci, "{name} is not installed");
        eprintln!("skipped: {name} is neither in the cache of .ci/tools.sh nor on the PATH");
    }
    found
}
