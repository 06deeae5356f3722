//! Reports local entries of kustomizations that do not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Note, Rendering};

use super::notices::NOT_MODELLED;
use super::refused_builds::is_undeployed_template;

/// Returns one warning for each entry that does not exist, because kustomize refuses to build it.
pub(super) fn absent_entries<'r>(
    context: &Context<'_>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<Finding> {
    let mut found: BTreeMap<&Note, Vec<&Rendering>> = BTreeMap::new();
    for rendering in renderings {
        for note in rendering.notes.iter().filter(|note| note.absent.is_some()) {
            found.entry(note).or_default().push(rendering);
        }
    }
    found
        .into_iter()
        .map(|(note, renderings)| {
            let mut finding = finding(note);
            let overlays = renderings.iter();
            finding.overlays = overlays
                .map(|rendering| Arc::clone(rendering.environment()))
                .collect();
            let mut renderings = renderings.into_iter();
            if renderings.all(|rendering| is_undeployed_template(context, rendering)) {
                finding.severity = Severity::Note;
            }
            finding
        })
        .collect()
}

fn finding(note: &Note) -> Finding {
    let label = Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: String::new(),
    };
    let mut finding = Finding::new(NOT_MODELLED, Severity::Warning, label, note.message.clone());
    finding.help = Some("correct the path, or remove the entry".to_owned());
    finding
}
