//! Reports overlays that were not rendered because all of them together would hold too much memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::render::Rendering;
use crate::finding::{Finding, Label, Severity};
use crate::yaml::Span;

use super::notices::OVERLAY_LEFT_OUT;

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
