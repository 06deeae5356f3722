//! Reports overlays and files that are not checked because the run would take too much memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::render::Rendering;
use crate::finding::{Finding, Label, Severity};
use crate::yaml::Span;

use super::notices::{FILE_LEFT_OUT, OVERLAY_LEFT_OUT};

/// How many overlays a message names.
const NAMED: usize = 3;

/// Returns one finding for all overlays of the run that are left out; `None` where all are rendered.
pub(super) fn left_out<'r>(renderings: impl Iterator<Item = &'r Rendering>) -> Option<Finding> {
    let (mut all, mut homes) = (0, BTreeSet::new());
    for rendering in renderings {
        all += 1;
        if rendering.left_out {
            homes.insert(rendering.home());
        }
    }
    let first = homes.first()?;
    let label = Label {
        path: Arc::clone(first),
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
    let message = format!(
        "not checked: {}{more}; all {all} renderings together would exceed the memory limit",
        named.join(", ")
    );
    let mut finding = Finding::new(OVERLAY_LEFT_OUT, Severity::Warning, label, message);
    finding.overlays = homes.into_iter().map(Arc::clone).collect();
    let help = "raise the limit with `--max-rendered 1GiB`, or check fewer overlays at once";
    finding.help = Some(help.to_owned());
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
        "not checked: `{path}` has {}; the parsed files of the run would exceed the memory limit of {}",
        shown(size),
        shown(limit)
    );
    let mut finding = Finding::new(FILE_LEFT_OUT, severity, label, message);
    let help = "raise the limit with `--max-parsed 1GiB`, or leave the file out with `--exclude`";
    finding.help = Some(help.to_owned());
    finding
}

/// Returns a number of bytes as people write it.
fn shown(bytes: usize) -> String {
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
