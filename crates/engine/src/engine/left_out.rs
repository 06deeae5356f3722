//! Reports overlays and files that are not checked because they exceed a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_deploy::kustomize::{Limit, Rendering};
use meshprobe_mesh::finding::{Finding, Label, Severity, environment_file, names_and_more};
use meshprobe_tree::source::FileLimit;
use meshprobe_tree::source::limits::{FILE_SIZE, FILE_VALUES, PARSED_VALUES};
use meshprobe_yaml::Span;

use meshprobe_rules::rules::notices::{FILE_LEFT_OUT, OVERLAY_LEFT_OUT};

/// The maximum number of overlays that a message names.
const NAMED: usize = 3;

/// Returns one finding per limit for the overlays of the run that exceed it.
pub(super) fn left_out<'r>(renderings: impl Iterator<Item = &'r Rendering>) -> Vec<Finding> {
    let mut homes: BTreeMap<Limit, BTreeSet<&Arc<str>>> = BTreeMap::new();
    for rendering in renderings {
        if let Some(limit) = rendering.left_out {
            homes
                .entry(limit)
                .or_default()
                .insert(rendering.environment());
        }
    }
    homes
        .into_iter()
        .filter_map(|(limit, homes)| overlays_left_out(limit, &homes))
        .collect()
}

fn overlays_left_out(limit: Limit, homes: &BTreeSet<&Arc<str>>) -> Option<Finding> {
    let label = Label {
        path: environment_file(homes.first()?).into(),
        span: Span::empty(0),
        message: String::new(),
    };
    let named = names_and_more(homes.iter().map(|home| format!("`{home}`")), NAMED);
    let message = format!("not checked: {named}; {limit}");
    let mut finding = Finding::new(OVERLAY_LEFT_OUT, Severity::Error, label, message);
    finding.overlays = homes.iter().map(|home| Arc::clone(home)).collect();
    finding.help = Some(limit.help("check"));
    Some(finding)
}

/// Returns one finding per severity and limit for the files that exceed it, given with the severity of each.
pub(super) fn files_left_out(files: Vec<(Severity, FileLimit, Label)>) -> Vec<Finding> {
    let mut groups: BTreeMap<_, Vec<Label>> = BTreeMap::new();
    for (severity, limit, label) in files {
        groups.entry((severity, limit)).or_default().push(label);
    }
    let groups = groups.into_iter().rev();
    groups
        .filter_map(|((severity, limit), labels)| group_left_out(severity, limit, &labels))
        .collect()
}

fn group_left_out(severity: Severity, limit: FileLimit, labels: &[Label]) -> Option<Finding> {
    let named = names_and_more(
        labels.iter().map(|label| format!("`{}`", label.path)),
        NAMED,
    );
    let why = match limit {
        FileLimit::Size => format!("a file may have {} MiB", FILE_SIZE >> 20),
        FileLimit::Values => format!("a file may have {FILE_VALUES} values"),
        FileLimit::AllValues => format!("all files of a run may have {PARSED_VALUES} values"),
    };
    let message = format!("not checked: {named}; {why}");
    let mut finding = Finding::new(FILE_LEFT_OUT, severity, labels.first()?.clone(), message);
    let help = match limit {
        FileLimit::AllValues => "check a part of the tree, or leave files out with `--exclude`",
        _ => "split the file, or leave it out with `--exclude`",
    };
    finding.help = Some(help.to_owned());
    Some(finding)
}
