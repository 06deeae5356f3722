//! `meshprobe diff`: what changes between two states.

mod broken_builds;
mod cause_lines;
mod cause_properties;
mod causes;
mod certainty;
mod command_line;
mod configuration;
mod counted_once;
mod dataplane;
mod departures;
mod fact_keys;
mod formats;
mod identity;
mod ignored;
mod incomplete;
mod live_evidence;
mod not_judged_inputs;
mod patch_levels;
mod release_facts;
mod release_pairs;
mod revisions;
mod submodules;
mod trees;
mod unread_facts;
mod unrelated;
mod upgrades;
mod what_if;

use std::path::Path;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{Run, meshprobe};

/// Creates two trees, with the files of `before` and of `after`.
fn trees(before: &[(&str, &str)], after: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (folder, files) in [("before", before), ("after", after)] {
        for (path, text) in files {
            project.write(&format!("{folder}/{path}"), text);
        }
    }
    project
}

/// Compares two releases of Istio for the manifests in a folder, with a report in JSON.
fn compare_releases(folder: &Path, from: &str, to: &str, rest: &[&str]) -> Run {
    let (from, to) = (format!("mesh-version={from}"), format!("mesh-version={to}"));
    let options = ["--output-format", "json", "--from", &from, "--to", &to];
    meshprobe(folder, &[&["diff"], &options[..], rest].concat(), "")
}

/// Returns the report of a run with `--output-format json`.
#[track_caller]
fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", run.stdout, run.stderr))
}

/// Returns each change as `class workload slot: before -> after`, or as `class rule` for a finding.
#[track_caller]
fn changes(run: &Run) -> Vec<String> {
    let report = report(run);
    let changes = report.get("changes").unwrap().as_array().unwrap();
    changes.iter().map(change).collect()
}

fn change(change: &Value) -> String {
    let text = |pointer: &str| {
        let value = change.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or("none").to_owned()
    };
    let class = text("/class");
    if change.pointer("/finding/rule").is_some() {
        return format!("{class} {}", text("/finding/rule"));
    }
    format!(
        "{class} {} {}: {} -> {}",
        text("/probe/name"),
        text("/probe/slot"),
        text("/before/outcome"),
        text("/after/outcome")
    )
}

/// Returns the cause of a change as `path:line message`, with `-` before it if only the first state has the line.
fn cause(run: &Run, index: usize) -> String {
    cause_of(report(run).pointer(&format!("/changes/{index}")).unwrap())
}

/// Returns the cause of an entry of `changes`; empty if it has none.
fn cause_of(change: &Value) -> String {
    let cause = change.get("cause").unwrap();
    let text = |pointer: &str| {
        let value = cause.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let line = cause.get("line").and_then(Value::as_u64);
    let line = line.map(|line| format!(":{line} ")).unwrap_or_default();
    let sign = if text("/state") == "before" { "-" } else { "" };
    format!("{sign}{}{line}{}", text("/path"), text("/message"))
}
