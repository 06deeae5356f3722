//! Pairs the findings of two states that are not about a handler, and compares them.

use std::hash::Hash;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::REFUSED;
use meshprobe_mesh::finding::{Finding, ObjectRef, RuleId, Severity, environment_file};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::change::{Change, Comparison, Subject};
use super::class::{Class, is_fault};
use super::probe_state::ProbeState;
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

/// The notice about parts of kustomizations that are not rendered.
pub(super) const NOT_MODELLED: &str = "kustomization-not-modelled";

/// What remains the same if lines move: neither lines nor wording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FindingKey {
    rule: RuleId,
    /// The kind, the namespace and the name of the object.
    object: Option<(String, Option<String>, String)>,
    container: Option<String>,
    /// The field without the indexes of lists, because an entry before it may be removed.
    field: Option<String>,
    overlay: Option<String>,
    /// Whether kustomize refuses to build a kustomization, which a note about an unknown part of it does not mean.
    is_refused: bool,
}

/// A finding in one environment.
#[derive(Clone, Debug)]
pub(super) struct FindingEntry<'f> {
    /// The finding.
    pub(super) finding: &'f Finding,
    /// The identity.
    pub(super) key: FindingKey,
    /// The file of the finding, relative to the tree.
    pub(super) file: String,
    /// Whether the outcomes of handlers report the same fault.
    pub(super) is_of_handlers: bool,
}

/// Returns the findings of a state that do not report the outcome of a handler that they name, once for each environment.
pub(super) fn entries<'s>(state: &'s State, set: &SourceSet) -> Vec<FindingEntry<'s>> {
    let root = &*state.root;
    let faulty = || state.probes.iter().filter(|probe| is_fault(probe.outcome));
    let mut by_file: HashMap<&str, Vec<&ProbeState>> = HashMap::new();
    for probe in faulty() {
        by_file.entry(&probe.place.path).or_default().push(probe);
    }
    let faulty: HashSet<(&str, Span)> = faulty()
        .map(|probe| (&*probe.place.path, probe.place.span))
        .collect();
    let is_of_handlers = |finding: &Finding| {
        let mut probes = by_file.get(&*finding.primary.path).into_iter().flatten();
        probes.any(|probe| probe.is_decided_at(finding, set))
    };
    let is_other = |finding: &&Finding| match &finding.probe {
        None => true,
        // A note about a handler that works.
        Some(probe) => finding.outcome.is_none() && !faulty.contains(&(&*probe.path, probe.span)),
    };
    let others = state.findings.iter().filter(is_other);
    others
        .flat_map(|finding| {
            let overlays = finding
                .overlays
                .iter()
                .map(|path| Some(relative(path, root)));
            let mut overlays: Vec<Option<String>> = overlays.collect();
            if overlays.is_empty() {
                overlays.push(None);
            }
            let is_of_handlers = is_of_handlers(finding);
            overlays.into_iter().map(move |overlay| FindingEntry {
                finding,
                key: FindingKey {
                    rule: finding.rule,
                    object: finding.object.as_ref().map(object),
                    container: finding.container.clone(),
                    field: finding.field.as_deref().map(without_indexes),
                    overlay,
                    is_refused: finding.rule.as_str() == NOT_MODELLED
                        && finding.severity != Severity::Note,
                },
                file: relative(&finding.primary.path, root),
                is_of_handlers,
            })
        })
        .collect()
}

fn object(object: &ObjectRef) -> (String, Option<String>, String) {
    (
        object.kind.clone(),
        object.namespace.clone(),
        object.name.clone(),
    )
}

/// Returns a field path without indexes: `spec.containers[].ports` for `spec.containers[2].ports`.
fn without_indexes(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut is_index = false;
    for character in field.chars() {
        match character {
            '[' => {
                is_index = true;
                out.push(character);
            }
            ']' => {
                is_index = false;
                out.push(character);
            }
            digit if is_index && digit.is_ascii_digit() => {}
            other => out.push(other),
        }
    }
    out
}

impl FindingKey {
    /// Returns whether the finding is about an object; otherwise only its file identifies it.
    pub(super) const fn has_object(&self) -> bool {
        self.object.is_some()
    }

    /// Returns the identity without the environment.
    pub(super) fn without_overlay(&self) -> Self {
        Self {
            overlay: None,
            ..self.clone()
        }
    }
}

/// The items of two states that are not paired yet, by their indexes, and the pairs.
#[derive(Debug)]
pub(super) struct Pairing {
    before: Vec<usize>,
    after: Vec<usize>,
    /// The pairs of indexes.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// Whether several items with the same key are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// In their order.
    InOrder,
    /// Not at all: the key is only a hint.
    Never,
}

impl Pairing {
    /// Starts with all items of both states unpaired.
    pub(super) fn new(before: usize, after: usize) -> Self {
        Self {
            before: (0..before).collect(),
            after: (0..after).collect(),
            pairs: Vec::new(),
        }
    }

    /// Pairs the remaining items that have the same key. An item without a key stays unpaired. The slices are those of
    /// [`Pairing::new`].
    pub(super) fn by<'i, T, K: Hash + Eq>(
        &mut self,
        before: &'i [T],
        after: &'i [T],
        repeated: Repeated,
        key: impl Fn(&'i T) -> Option<K>,
    ) {
        // Most changes add and remove no item, so that all keys are the same in the same order.
        let item = |items: &'i [T], index: &usize| items.get(*index).and_then(&key);
        let is_equal = |(old, new): (&usize, &usize)| {
            let old = item(before, old);
            old.is_some() && old == item(after, new)
        };
        let is_same_order = repeated == Repeated::InOrder
            && self.before.len() == self.after.len()
            && self.before.iter().zip(&self.after).all(is_equal);
        if is_same_order {
            let (before, after) = (self.before.drain(..), self.after.drain(..));
            self.pairs.extend(before.zip(after));
            return;
        }
        let mut waiting: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for &index in &self.before {
            if let Some(key) = before.get(index).and_then(&key) {
                waiting.entry(key).or_default().0.push(index);
            }
        }
        for &index in &self.after {
            if let Some(key) = after.get(index).and_then(&key)
                && let Some(found) = waiting.get_mut(&key)
            {
                found.1.push(index);
            }
        }
        let groups = waiting.into_values().filter(|(before, after)| {
            repeated == Repeated::InOrder || (before.len(), after.len()) == (1, 1)
        });
        let mut paired: Vec<(usize, usize)> = groups
            .flat_map(|(before, after)| before.into_iter().zip(after))
            .collect();
        paired.sort_unstable();
        let mut paired_after: Vec<usize> = paired.iter().map(|(_, after)| *after).collect();
        paired_after.sort_unstable();
        self.before
            .retain(|index| paired.binary_search_by_key(index, |pair| pair.0).is_err());
        self.after
            .retain(|index| paired_after.binary_search(index).is_err());
        self.pairs.extend(paired);
    }

    /// Returns the items of the first state without a partner.
    pub(super) fn only_before(&self) -> &[usize] {
        &self.before
    }

    /// Returns the items of the second state without a partner.
    pub(super) fn only_after(&self) -> &[usize] {
        &self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_removed() {
        assert_eq!(without_indexes("a[12].b[name=x].c"), "a[].b[name=x].c");
    }

    fn paired(before: &[&str], after: &[&str], repeated: Repeated) -> Pairing {
        let mut pairing = Pairing::new(before.len(), after.len());
        pairing.by(before, after, repeated, |item| Some(*item));
        pairing
    }

    #[test]
    fn equal_keys_are_paired_in_order() {
        let pairing = paired(&["a", "b", "a"], &["a", "a", "c"], Repeated::InOrder);
        assert_eq!(pairing.pairs, [(0, 0), (2, 1)]);
        assert_eq!(pairing.only_before(), [1]);
        assert_eq!(pairing.only_after(), [2]);
    }

    #[test]
    fn a_hint_pairs_only_single_items() {
        let pairing = paired(&["a", "b", "a"], &["a", "b"], Repeated::Never);
        assert_eq!(pairing.pairs, [(1, 1)]);
    }
}
