//! Compares the findings that are not about a handler.

use hashbrown::HashSet;
use meshprobe_deploy::kustomize::REFUSED;
use meshprobe_mesh::finding::{Finding, Severity, environment_file};
use meshprobe_tree::source::SourceSet;

use super::change::{Change, Subject};
use super::class::Class;
use super::comparison::Comparison;
use super::finding_key::{FindingEntry, NOT_MODELLED, entries};
use super::pairing::{Pairing, Repeated};
use super::state::{State, relative, shown_path};

/// Compares the findings of two states, and adds the changes.
pub(super) fn compare_findings(
    (before, old_files): (&State, &SourceSet),
    (after, new_files): (&State, &SourceSet),
    comparison: &mut Comparison,
) {
    let (old, new) = (entries(before, old_files), entries(after, new_files));
    let has_file = |state: &State, set: &SourceSet, file: &str| {
        let path = shown_path(&state.root, file);
        set.file(&path).is_some()
    };
    let is_in_both =
        |file: &str| has_file(before, old_files, file) && has_file(after, new_files, file);
    let pairing = pair_findings(&old, &new, is_in_both);
    let is_counted = |pair: &&(usize, usize)| {
        let entry = new.get(pair.1);
        entry.is_some_and(|entry| !entry.is_of_handlers)
    };
    comparison.unchanged_findings = pairing.pairs.iter().filter(is_counted).count();
    let only = |entries: &[FindingEntry<'_>], indexes: &[usize]| -> Vec<Finding> {
        let mut found: Vec<&Finding> = Vec::new();
        let entries = indexes.iter().filter_map(|index| entries.get(*index));
        // The changes of the handlers contain the others.
        for entry in entries.filter(|entry| !entry.is_of_handlers) {
            // A finding in several environments is one change. Its entries are adjacent.
            let last = found.last();
            if !last.is_some_and(|last| std::ptr::eq(*last, entry.finding)) {
                found.push(entry.finding);
            }
        }
        found.into_iter().cloned().collect()
    };
    let gone = only(&old, pairing.only_before()).into_iter();
    comparison.changes.extend(gone.map(|finding| Change {
        class: match finding.severity {
            Severity::Note => Class::Changed,
            Severity::Warning | Severity::Error => Class::Improvement,
        },
        cause: None,
        remains: None,
        subject: Subject::GoneFinding(Box::new(finding)),
    }));
    // A file that cannot be read any more hides its probes, which are not removed, and so does a kustomization that
    // kustomize does not build: more than a note of `check`.
    let removed = places_of_removed_probes(&comparison.changes);
    let mut found = only(&new, pairing.only_after());
    for finding in &mut found {
        let is_broken = finding.rule.as_str() != NOT_MODELLED || finding.message.ends_with(REFUSED);
        let hides_probes = is_broken
            && finding.object.is_none()
            && removed.contains(&*relative(&finding.primary.path, &after.root));
        if hides_probes {
            finding.severity = finding.severity.max(Severity::Warning);
        }
    }
    comparison
        .changes
        .extend(found.into_iter().map(|finding| Change {
            class: match finding.severity {
                Severity::Note => Class::Changed,
                Severity::Warning | Severity::Error => Class::Regression,
            },
            cause: None,
            remains: None,
            subject: Subject::NewFinding(Box::new(finding)),
        }));
}

/// Pairs the findings of both states. `is_in_both` returns whether both states have a file, given relative to the tree.
fn pair_findings(
    before: &[FindingEntry<'_>],
    after: &[FindingEntry<'_>],
    is_in_both: impl Fn(&str) -> bool,
) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    pairing.by(before, after, Repeated::InOrder, |entry| {
        Some((&entry.key, &entry.file, &entry.finding.message))
    });
    pairing.by(before, after, Repeated::InOrder, |entry| {
        Some((&entry.key, &entry.file))
    });
    pairing.by(before, after, Repeated::InOrder, |entry| {
        entry.key.has_object().then_some(&entry.key)
    });
    // The name of a kustomization says little without its folder.
    let parts = |entry: &FindingEntry<'_>| -> Vec<String> {
        let parts = entry.file.rsplit('/').take(2);
        parts.map(str::to_owned).collect()
    };
    // The folder above several files is renamed. A fault that moves to a file that existed before is new there.
    pairing.by(before, after, Repeated::InOrder, |entry| {
        let is_renamed = !is_in_both(&entry.file);
        is_renamed.then(|| {
            let message = entry.finding.message.clone();
            (entry.key.without_overlay(), parts(entry), message)
        })
    });
    // A renamed file or a renamed folder of an environment.
    pairing.by(before, after, Repeated::Never, |entry| {
        let file = is_in_both(&entry.file).then_some(&entry.file);
        Some((entry.key.without_overlay(), parts(entry), file))
    });
    pairing
}

/// Returns the files and the environments of the handlers that do not exist any more, relative to the tree.
fn places_of_removed_probes(changes: &[Change]) -> HashSet<String> {
    let removed = changes
        .iter()
        .filter(|change| change.class == Class::Removed);
    let probes = removed.filter_map(Change::probe);
    probes
        .flat_map(|probe| {
            let environment = probe.id.environment.as_deref().map(environment_file);
            environment.into_iter().chain([&*probe.file])
        })
        .map(str::to_owned)
        .collect()
}
