//! Reports the parts of kustomizations that are not rendered.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::{Note, Rendering};
use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_mesh::kube::RenderingId;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::Span;

use super::left_out::left_out;
use meshprobe_rules::rules::notices::NOT_MODELLED;

/// Reports the parts of kustomizations that are not rendered, with the notes that `is_wanted` selects.
pub(super) fn unsupported_parts<'r>(
    renderings: impl IntoIterator<Item = &'r Rendering>,
    predictions: &[WorkloadPrediction<'_>],
    is_wanted: fn(&Note) -> bool,
) -> Vec<Finding> {
    let workloads_with_probes = predictions
        .iter()
        .filter(|prediction| prediction.is_target && !prediction.handlers.is_empty());
    let with_probes = renderings_of(workloads_with_probes);
    let renderings: Vec<&Rendering> = renderings.into_iter().collect();
    let left_out = left_out(renderings.iter().copied());
    let reported: Vec<(&Rendering, Vec<&Note>)> = renderings
        .into_iter()
        .filter_map(|rendering| {
            let has_probes = with_probes.contains(&rendering.id);
            Some((rendering, unsupported(rendering, has_probes, is_wanted)?))
        })
        .collect();
    let parts = grouped(&reported);
    let parts = parts.iter().filter_map(UnsupportedPart::finding);
    parts.chain(left_out).collect()
}

/// Groups kustomizations by the part of each that most of them include.
fn grouped<'r>(reported: &[(&'r Rendering, Vec<&'r Note>)]) -> Vec<UnsupportedPart<'r>> {
    let mut counts: HashMap<NotePlace<'_>, usize> = HashMap::new();
    for note in reported.iter().flat_map(|(_, notes)| notes) {
        *counts.entry(place_of(note)).or_default() += 1;
    }
    let count = |note: &Note| counts.get(&place_of(note)).copied().unwrap_or_default();
    let mut parts: Vec<UnsupportedPart<'_>> = Vec::new();
    let mut known: HashMap<NotePlace<'_>, usize> = HashMap::new();
    for (rendering, notes) in reported {
        // The first of several with the same count.
        let Some(first) = notes.iter().copied().rev().max_by_key(|note| count(note)) else {
            continue;
        };
        let others = notes.len() - 1;
        let index = *known.entry(place_of(first)).or_insert(parts.len());
        match parts.get_mut(index) {
            Some(part) => part.renderings.push((rendering, others)),
            None => parts.push(UnsupportedPart {
                first,
                renderings: vec![(rendering, others)],
            }),
        }
    }
    parts
}

/// The place and the message of a note.
type NotePlace<'r> = (&'r str, Span, &'r str);

fn place_of(note: &Note) -> NotePlace<'_> {
    (&note.path, note.span, &note.message)
}

/// A part of a kustomization that is not rendered, and the kustomizations that include it.
struct UnsupportedPart<'r> {
    first: &'r Note,
    /// Each kustomization, with the number of its other such parts.
    renderings: Vec<(&'r Rendering, usize)>,
}

/// The maximum number of kustomizations that a finding names.
const NAMED: usize = 5;

impl UnsupportedPart<'_> {
    fn finding(&self) -> Option<Finding> {
        let first = self.first;
        let (rendering, others) = self.renderings.first()?;
        let label = Label {
            path: Arc::clone(&first.path),
            span: first.span,
            message: String::new(),
        };
        let more = match (self.renderings.len(), others) {
            (1, 0) => String::new(),
            (1, count) => format!(" (and {count} more like this in {})", rendering.id.root),
            _ => format!(" (in {})", self.roots()),
        };
        let message = format!("{}{more}", first.message);
        let mut finding = Finding::new(NOT_MODELLED, Severity::Note, label, message);
        let overlays = self.renderings.iter();
        let overlays = overlays.map(|(rendering, _)| Arc::clone(rendering.environment()));
        finding.overlays.extend(overlays);
        let build = rendering.build();
        let outputs = match self.renderings.len() {
            1 => "the output of the build",
            _ => "the outputs of the builds, for example",
        };
        finding.help = Some(format!(
            "check {outputs}: `{build} | meshprobe check --context . -`"
        ));
        Some(finding)
    }

    /// Returns the kustomizations, each with the number of its other parts that are not rendered.
    fn roots(&self) -> String {
        let root = |(rendering, others): &(&Rendering, usize)| match others {
            0 => format!("`{}`", rendering.id.root),
            count => format!("`{}`, with {count} more", rendering.id.root),
        };
        let mut names: Vec<String> = self.renderings.iter().take(NAMED).map(root).collect();
        let more = self.renderings.len().saturating_sub(NAMED);
        if more > 0 {
            names.push(format!("{more} other kustomizations"));
        }
        names.join("; ")
    }
}

/// Returns the parts of a kustomization that are not rendered, if the kustomization renders probes or its objects are
/// not all known; `None` if there is none.
fn unsupported(
    rendering: &Rendering,
    has_probes: bool,
    is_wanted: fn(&Note) -> bool,
) -> Option<Vec<&Note>> {
    let notes = rendering.notes.iter().filter(|note| is_wanted(note));
    let notes: Vec<&Note> = notes.collect();
    // If objects are missing, only these may have probes.
    let is_reported = has_probes || rendering.has_unknown_objects;
    (is_reported && !notes.is_empty()).then_some(notes)
}

/// Returns the renderings that contain the workloads.
pub(super) fn renderings_of<'a, 't: 'a>(
    predictions: impl Iterator<Item = &'a WorkloadPrediction<'t>>,
) -> HashSet<&'t RenderingId> {
    predictions
        .filter_map(|prediction| prediction.workload.object.rendered_by)
        .collect()
}
