//! Reports overlays and files that are not checked because they exceed a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_deploy::kustomize::{Limit, Rendering};
use meshprobe_mesh::finding::{Finding, Label, Severity, environment_file, names_and_more};
use meshprobe_yaml::Span;

use meshprobe_rules::rules::notices::{FILE_LEFT_OUT, OVERLAY_LEFT_OUT};

/// The maximum number of overlays that a message names.
const NAMED: usize = 3;

/// Returns one finding per limit for the overlays of the run that exceed it.
pub(super) fn left_out<'r>(renderings: impl Iterator<Item = &'r Rendering>) -> Vec<Finding> {
    let mut all = 0;
    let mut homes: BTreeMap<Limit, BTreeSet<&Arc<str>>> = BTreeMap::new();
    for rendering in renderings {
        all += 1;
        if let Some(limit) = rendering.left_out {
            homes
                .entry(limit)
                .or_default()
                .insert(rendering.environment());
        }
    }
    homes
        .into_iter()
        .filter_map(|(limit, homes)| overlays_left_out(limit, &homes, all))
        .collect()
}

fn overlays_left_out(limit: Limit, homes: &BTreeSet<&Arc<str>>, all: usize) -> Option<Finding> {
    let label = Label {
        path: environment_file(homes.first()?).into(),
        span: Span::empty(0),
        message: String::new(),
    };
    let named = names_and_more(homes.iter().map(|home| format!("`{home}`")), NAMED);
    let why = match limit {
        Limit::Memory => format!("all {all} renderings together would exceed the memory limit"),
        other => other.to_string(),
    };
    let message = format!("not checked: {named}; {why}");
    let mut finding = Finding::new(OVERLAY_LEFT_OUT, Severity::Error, label, message);
    finding.overlays = homes.iter().map(|home| Arc::clone(home)).collect();
    finding.help = Some(limit.help("check"));
    Some(finding)
}

/// File that does not fit into the limit of parsed files.
pub(super) struct FileLeftOut {
    /// Its start.
    pub(super) label: Label,
    /// The severity of a finding about it.
    pub(super) severity: Severity,
    /// Its size in bytes.
    pub(super) size: usize,
    /// The limit in bytes.
    pub(super) limit: usize,
}

/// Returns one finding per severity for the files that do not fit into the limit of parsed files.
pub(super) fn files_left_out(files: Vec<FileLeftOut>) -> Vec<Finding> {
    let mut by_severity: BTreeMap<Severity, Vec<FileLeftOut>> = BTreeMap::new();
    for file in files {
        by_severity.entry(file.severity).or_default().push(file);
    }
    let groups = by_severity.into_values().rev();
    groups.filter_map(|files| group_left_out(&files)).collect()
}

fn group_left_out(files: &[FileLeftOut]) -> Option<Finding> {
    let first = files.first()?;
    let shown_file = |file: &FileLeftOut| format!("`{}`", file.label.path);
    let what = match files {
        [file] => format!("{} has a size of {}", shown_file(file), shown(file.size)),
        files => {
            let named = names_and_more(files.iter().map(shown_file), NAMED);
            let size = files.iter().map(|file| file.size).sum();
            format!("{} files with {}: {named}", files.len(), shown(size))
        }
    };
    let message = format!(
        "not checked: {what}; the parsed files of the run would exceed the memory limit of {}",
        shown(first.limit)
    );
    let mut finding = Finding::new(FILE_LEFT_OUT, first.severity, first.label.clone(), message);
    let help = match files.len() {
        1 => "raise the limit with `--max-parsed 1GiB`, or leave the file out with `--exclude`",
        _ => "raise the limit with `--max-parsed 1GiB`, or leave files out with `--exclude`",
    };
    finding.help = Some(help.to_owned());
    Some(finding)
}

/// Formats a number of bytes with a unit.
fn shown(bytes: usize) -> String {
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
