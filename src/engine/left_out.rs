//! Reports overlays and files that are not checked because they exceed a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Limit, Rendering};
use crate::yaml::Span;

use super::notices::{FILE_LEFT_OUT, OVERLAY_LEFT_OUT};

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
                .insert(rendering.location_file());
        }
    }
    homes
        .into_iter()
        .filter_map(|(limit, homes)| overlays_left_out(limit, &homes, all))
        .collect()
}

fn overlays_left_out(limit: Limit, homes: &BTreeSet<&Arc<str>>, all: usize) -> Option<Finding> {
    let label = Label {
        path: Arc::clone(homes.first()?),
        span: Span::empty(0),
        message: String::new(),
    };
    let named: Vec<String> = homes
        .iter()
        .take(NAMED)
        .map(|home| format!("`{home}`"))
        .collect();
    let more = match homes.len().saturating_sub(NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let why = match limit {
        Limit::Memory => format!("all {all} renderings together would exceed the memory limit"),
        other => other.to_string(),
    };
    let message = format!("not checked: {}{more}; {why}", named.join(", "));
    let mut finding = Finding::new(OVERLAY_LEFT_OUT, Severity::Error, label, message);
    finding.overlays = homes.iter().map(|home| Arc::clone(home)).collect();
    finding.help = Some(limit.help("check"));
    Some(finding)
}

/// Returns the finding for a file of `size` bytes that does not fit into the `limit` of parsed files.
pub(super) fn file_left_out(
    label: Label,
    severity: Severity,
    size: usize,
    limit: usize,
) -> Finding {
    let path = Arc::clone(&label.path);
    let message = format!(
        "not checked: `{path}` has a size of {}; the parsed files of the run would exceed the memory limit of {}",
        shown(size),
        shown(limit)
    );
    let mut finding = Finding::new(FILE_LEFT_OUT, severity, label, message);
    let help = "raise the limit with `--max-parsed 1GiB`, or leave the file out with `--exclude`";
    finding.help = Some(help.to_owned());
    finding
}

/// Formats a number of bytes with a unit.
fn shown(bytes: usize) -> String {
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
