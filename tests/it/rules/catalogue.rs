//! The catalogue of faults: each `bad.yaml` is found by its rule, each `good.yaml` is not, and
//! whatever else speaks up is named with its reason in `companions.csv`. A fault that no single file
//! shows has a folder `bad` or `good` instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{findings, meshprobe};

/// A fault of the catalogue.
struct Fault {
    rule: String,
    severity: String,
    release: String,
    folder: PathBuf,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/catalogue")
}

fn rows(name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(name)).unwrap();
    let rows = text.lines().skip(1);
    rows.map(|row| row.splitn(3, ',').map(str::to_owned).collect())
        .collect()
}

/// The faults, each with its rule.
fn faults() -> Vec<Fault> {
    let known: BTreeSet<&str> = meshprobe::rules::all().iter().map(|rule| rule.id).collect();
    rows("catalogue.csv")
        .into_iter()
        .inspect(|row| assert!(known.contains(row[0].as_str()), "no rule {}", row[0]))
        .map(|row| Fault {
            folder: root().join(&row[0]),
            rule: row[0].clone(),
            severity: row[1].clone(),
            release: row[2].clone(),
        })
        .collect()
}

/// Copies a file, or a folder with all that lies in it.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Returns the rules that speak up on `bad` or `good`, with their severities.
fn found(fault: &Fault, which: &str) -> BTreeSet<(String, String)> {
    let scratch = tempfile::tempdir().unwrap();
    let settings = format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: default}}\nspec:\n  \
         mesh: {{kind: istio, version: \"{}\", rootNamespace: istio-system, revision: default}}\n",
        fault.release
    );
    fs::write(scratch.path().join("settings.yaml"), settings).unwrap();
    let file = format!("{which}.yaml");
    let is_tree = fault.folder.join(which).is_dir();
    let file = if is_tree { which } else { file.as_str() };
    copy(&fault.folder.join(file), &scratch.path().join(file));
    let arguments = [
        "check",
        "--config",
        "settings.yaml",
        "--output-format",
        "json",
        file,
    ];
    let run = meshprobe(scratch.path(), &arguments, "");
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
    findings(&run)
        .iter()
        .map(|finding| (text(finding, "rule"), text(finding, "severity")))
        .collect()
}

#[test]
fn bad_files_are_found_by_their_rule() {
    let companions = rows("companions.csv");
    let mut wrong = Vec::new();
    for fault in faults() {
        let mut found = found(&fault, "bad");
        if !found.remove(&(fault.rule.clone(), fault.severity.clone())) {
            wrong.push(format!("{}: {found:?}", fault.rule));
        }
        let mut named: BTreeSet<&str> = companions
            .iter()
            .filter(|row| row[0] == fault.rule)
            .map(|row| row[1].as_str())
            .collect();
        for (other, _) in &found {
            if !named.remove(other.as_str()) {
                wrong.push(format!("{}: {other} is no companion", fault.rule));
            }
        }
        for missing in named {
            wrong.push(format!("{}: {missing} says nothing", fault.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_files_are_not_found_by_the_rule() {
    let mut wrong = Vec::new();
    for fault in faults() {
        let found = found(&fault, "good");
        if found.iter().any(|(rule, _)| *rule == fault.rule) {
            wrong.push(fault.rule);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
