//! Reports local entries of kustomizations that do not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Note, Rendering};
use crate::source::{SourceSet, is_kustomization, paths};

use super::notices::NOT_MODELLED;

/// The maximum number of paths that a run compares with those of absent entries.
const COMPARED: usize = 200_000;

/// Returns one warning for each entry that does not exist, because kustomize refuses to build it.
pub(super) fn absent_entries<'r>(
    set: &SourceSet,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<Finding> {
    let mut found: BTreeMap<&Note, Vec<Arc<str>>> = BTreeMap::new();
    for rendering in renderings {
        for note in rendering.notes.iter().filter(|note| note.absent.is_some()) {
            let overlays = found.entry(note).or_default();
            overlays.push(Arc::clone(rendering.location_file()));
        }
    }
    found
        .into_iter()
        .enumerate()
        .filter_map(|(index, (note, overlays))| {
            // Where so many entries are missing, a typing error is unlikely.
            let is_searched = index.saturating_mul(set.files.len()) < COMPARED;
            let absent = note.absent.as_deref()?;
            let similar = is_searched.then(|| closest(set, absent, &note.path));
            Some(finding(note, similar.flatten(), overlays))
        })
        .collect()
}

fn finding(note: &Note, similar: Option<&str>, overlays: Vec<Arc<str>>) -> Finding {
    let label = Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: String::new(),
    };
    let mut finding = Finding::new(NOT_MODELLED, Severity::Warning, label, note.message.clone());
    finding.overlays = overlays;
    finding.help = Some(match similar {
        Some(path) => format!("correct the path (`{path}` exists), or remove the entry"),
        None => "correct the path, or remove the entry".to_owned(),
    });
    finding
}

/// Returns the file or the folder of a kustomization whose path is similar to that of a missing entry of the
/// kustomization `user`.
fn closest<'s>(set: &'s SourceSet, absent: &str, user: &str) -> Option<&'s str> {
    let own = folder(user);
    set.files
        .iter()
        .filter(|file| file.location.is_some() && *file.path != *user)
        .map(|file| match is_kustomization(&file.path) {
            true => folder(&file.path),
            false => &file.path,
        })
        .filter(|path| !path.is_empty() && *path != own)
        .map(|path| (strsim::osa_distance(path, absent), path))
        .min()
        .filter(|(distance, _)| *distance <= last(absent).len() / 4 + 1)
        .map(|(_, path)| path)
}

fn folder(path: &str) -> &str {
    paths::folder(path).trim_end_matches('/')
}

/// Returns the last part of a path without an extension of YAML: its folders have few typing errors.
fn last(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or(path);
    let extensions = [".yaml", ".yml"];
    extensions
        .iter()
        .find_map(|extension| last.strip_suffix(extension))
        .unwrap_or(last)
}
