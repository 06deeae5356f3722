//! Reports the parts of kustomizations that are not rendered.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Note, Rendering};
use crate::predict::WorkloadPrediction;

use super::left_out::left_out;
use super::notices::NOT_MODELLED;

/// Reports the parts of kustomizations that are not rendered, with the notes that `is_wanted` selects.
pub(super) fn unsupported_parts<'r>(
    renderings: impl IntoIterator<Item = &'r Rendering>,
    predictions: &[WorkloadPrediction<'_>],
    is_wanted: fn(&Note) -> bool,
) -> Vec<Finding> {
    let workloads_with_probes = predictions
        .iter()
        .filter(|prediction| prediction.is_target && !prediction.handlers.is_empty());
    let with_probes = roots(workloads_with_probes);
    let renderings: Vec<&Rendering> = renderings.into_iter().collect();
    let left_out = left_out(renderings.iter().copied());
    renderings
        .into_iter()
        .filter_map(|rendering| {
            let has_probes = with_probes.contains(&*rendering.root);
            not_modelled(rendering, has_probes, is_wanted)
        })
        .chain(left_out)
        .collect()
}

/// Returns one finding for the parts of a kustomization that are not rendered, if the kustomization renders probes or
/// its objects are not all known.
fn not_modelled(
    rendering: &Rendering,
    has_probes: bool,
    is_wanted: fn(&Note) -> bool,
) -> Option<Finding> {
    let mut notes = rendering.notes.iter().filter(|note| is_wanted(note));
    let (first, others) = (notes.next()?, notes.count());
    // If objects are missing, only these may have probes.
    if !has_probes && !rendering.has_unknown_objects {
        return None;
    }
    let label = Label {
        path: Arc::clone(&first.path),
        span: first.span,
        message: String::new(),
    };
    let more = match others {
        0 => String::new(),
        count => format!(" (and {count} more like this in {})", rendering.root),
    };
    let message = format!("{}{more}", first.message);
    let mut finding = Finding::new(NOT_MODELLED, Severity::Note, label, message);
    finding.overlays.push(Arc::clone(rendering.location_file()));
    let build = rendering.build();
    finding.help = Some(format!(
        "check the output of the build: `{build} | meshprobe check --context . -`"
    ));
    Some(finding)
}

/// Returns the kustomizations that render the workloads.
pub(super) fn roots<'a, 't: 'a>(
    predictions: impl Iterator<Item = &'a WorkloadPrediction<'t>>,
) -> HashSet<&'t str> {
    predictions
        .filter_map(|prediction| prediction.workload.object.rendered_by)
        .map(|root| &**root)
        .collect()
}
