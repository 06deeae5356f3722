//! Reports local entries of kustomizations that do not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Context;
use crate::finding::{Finding, Label, Severity};
use crate::kustomize::{Note, Rendering};
use crate::source::{SourceSet, is_kustomization, paths};

use super::notices::NOT_MODELLED;
use super::refused_builds::is_undeployed_template;

/// The maximum number of paths that a run compares with those of absent entries.
const COMPARED: usize = 200_000;

/// Returns one warning for each entry that does not exist, because kustomize refuses to build it.
pub(super) fn absent_entries<'r>(
    context: &Context<'_>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<Finding> {
    let set = context.sources;
    let mut found: BTreeMap<&Note, Vec<&Rendering>> = BTreeMap::new();
    for rendering in renderings {
        for note in rendering.notes.iter().filter(|note| note.absent.is_some()) {
            found.entry(note).or_default().push(rendering);
        }
    }
    found
        .into_iter()
        .enumerate()
        .filter_map(|(index, (note, renderings))| {
            // Where so many entries are missing, a typing error is unlikely.
            let is_searched = index.saturating_mul(set.files.len()) < COMPARED;
            let absent = note.absent.as_deref()?;
            let similar = is_searched.then(|| closest(set, absent, &note.path));
            let mut finding = finding(note, similar.flatten());
            let overlays = renderings.iter();
            finding.overlays = overlays
                .map(|rendering| Arc::clone(rendering.environment()))
                .collect();
            let mut renderings = renderings.into_iter();
            if renderings.all(|rendering| is_undeployed_template(context, rendering)) {
                finding.severity = Severity::Note;
            }
            Some(finding)
        })
        .collect()
}

fn finding(note: &Note, similar: Option<&str>) -> Finding {
    let label = Label {
        path: Arc::clone(&note.path),
        span: note.span,
        message: String::new(),
    };
    let mut finding = Finding::new(NOT_MODELLED, Severity::Warning, label, note.message.clone());
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
    let limit = last(absent).len() / 4 + 1;
    let wanted = CharacterCounts::of(absent);
    set.files
        .iter()
        .filter(|file| file.location.is_some() && *file.path != *user)
        .map(|file| match is_kustomization(&file.path) {
            true => folder(&file.path),
            false => &file.path,
        })
        .filter(|path| !path.is_empty() && *path != own)
        .filter(|path| wanted.may_be_within(path, limit))
        .map(|path| (strsim::osa_distance(path, absent), path))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, path)| path)
}

/// How often each byte occurs in a text: a lower bound of the distance to another text, which is much faster to compute.
struct CharacterCounts<'t> {
    counts: [u32; 256],
    text: &'t str,
}

impl<'t> CharacterCounts<'t> {
    fn of(text: &'t str) -> Self {
        let mut counts = [0; 256];
        for byte in text.bytes() {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
        Self { counts, text }
    }

    /// Returns whether at most `limit` edits may make the texts equal. An edit inserts, deletes or replaces one character,
    /// which has up to four bytes.
    fn may_be_within(&self, text: &str, limit: usize) -> bool {
        let is_ascii = self.text.is_ascii() && text.is_ascii();
        let bytes = if is_ascii {
            limit
        } else {
            limit.saturating_mul(4)
        };
        if self.text.len().abs_diff(text.len()) > bytes {
            return false;
        }
        let other = CharacterCounts::of(text);
        let pairs = self.counts.iter().zip(&other.counts);
        let different: u32 = pairs.map(|(a, b)| a.abs_diff(*b)).sum();
        usize::try_from(different).is_ok_and(|different| different <= bytes.saturating_mul(2))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_texts_pass_the_lower_bound() {
        for (a, b) in [
            ("apps/web.yaml", "apps/wbe.yaml"),
            ("b\u{e4}se", "base"),
            ("a", ""),
        ] {
            let distance = strsim::osa_distance(a, b);
            assert!(CharacterCounts::of(a).may_be_within(b, distance), "{a} {b}");
        }
        assert!(!CharacterCounts::of("apps/web.yaml").may_be_within("apps/api.yaml", 2));
    }
}
