//! Reports settings with which kustomize refuses to build a kustomization.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Note, Rendering};

use super::notices::NOT_MODELLED;

/// Returns one warning for each setting that kustomize refuses. [`absent_entries`](super::absent_entries) reports entries
/// that do not exist.
pub(super) fn refused_builds<'r>(renderings: impl Iterator<Item = &'r Rendering>) -> Vec<Finding> {
    let mut found: BTreeMap<&Note, Vec<&Rendering>> = BTreeMap::new();
    for rendering in renderings {
        let notes = rendering.notes.iter();
        let refused = notes.filter(|note| note.is_refused && note.absent.is_none());
        for note in refused {
            found.entry(note).or_default().push(rendering);
        }
    }
    found
        .into_iter()
        .map(|(note, renderings)| finding(note, &renderings))
        .collect()
}

fn finding(note: &Note, renderings: &[&Rendering]) -> Finding {
    let label = Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: String::new(),
    };
    let is_placeholder = |rendering: &&Rendering| rendering.is_placeholder(note);
    let severity = match renderings.iter().all(is_placeholder) {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let mut finding = Finding::new(NOT_MODELLED, severity, label, note.message.clone());
    let overlays = renderings.iter();
    finding.overlays = overlays
        .map(|rendering| Arc::clone(rendering.location_file()))
        .collect();
    let build = renderings.first().map(|rendering| rendering.build());
    finding.help = build.map(|build| format!("correct it; `{build}` prints the error"));
    finding
}
