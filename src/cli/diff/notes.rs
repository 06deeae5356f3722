//! What the user must know to read the result: assumed patch levels, and facts without effect.

use meshprobe_mesh::settings::{FactScope, MeshKind, Version};

use super::changed_facts::WhatIf;
use super::loaded::{Loaded, States};
use meshprobe_engine::diff::patch_level_note;

/// Returns the notes about a comparison, in the order of importance.
pub(super) fn notes(states: &States) -> Vec<String> {
    let (before, after) = (&states.before, &states.after);
    let mut notes = states.notes.clone();
    if let Some(what_if) = &states.what_if {
        let kind = after.run.layer.mesh.unwrap_or_default();
        notes.extend(newer_releases(what_if, kind));
        notes.extend(unread_facts(what_if, kind, [before, after]));
    }
    notes.extend(patch_levels(before, after));
    notes.extend(not_moved(after));
    notes
}

fn newer_releases(what_if: &WhatIf, kind: MeshKind) -> impl Iterator<Item = String> {
    let last = Version::LAST_ISTIO;
    let newer = what_if.newer_releases(kind).into_iter();
    newer.map(move |version| {
        format!(
            "Istio {version} is newer than {last}, the newest release that meshprobe models, and is treated like it"
        )
    })
}

/// Returns a note for each fact that no workload reads in either state.
fn unread_facts(what_if: &WhatIf, kind: MeshKind, states: [&Loaded; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    for (option, key) in what_if.keys() {
        let scope = FactScope::of(key, kind);
        let [before, after] = states.map(|loaded| loaded.state.readers.why_unread(scope));
        if let (Some(_), Some(why)) = (before, after) {
            let note = format!("`{key}` of `{option}` has no effect: {why}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Returns a note for each release whose patch level matters and is not known, if the releases of both states differ.
fn patch_levels(before: &Loaded, after: &Loaded) -> Vec<String> {
    let releases = before.istio_release.zip(after.istio_release);
    let Some((old, new)) = releases.filter(|(old, new)| old != new || old.patch() != new.patch())
    else {
        return Vec::new();
    };
    let found = [(before, old), (after, new)];
    let found = found.into_iter();
    found
        .filter_map(|(loaded, release)| patch_level_note(&loaded.state, release))
        .collect()
}

/// Returns a note for each workload that the dataplane of `--to` does not move.
fn not_moved(after: &Loaded) -> impl Iterator<Item = String> {
    after.state.not_moved.iter().map(|found| {
        let what = match found.keeps_sidecar {
            true => "keeps its sidecar",
            false => "stays in ambient mode",
        };
        let path = &found.place.path;
        let file = after.run.set.file(path);
        let line = file.map(|file| format!(":{}", file.line_of(found.place.span)));
        let (workload, label) = (&found.workload, &found.label);
        let line = line.unwrap_or_default();
        format!(
            "not moved by `dataplane`: {workload}, which {what}: label `{label}` ({path}{line})"
        )
    })
}
