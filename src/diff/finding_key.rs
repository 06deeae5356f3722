//! The identity of a finding in both states.

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Finding, ObjectRef, RuleId, Severity};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::class::is_fault;
use super::probe_state::ProbeState;
use super::state::{State, relative};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_removed() {
        assert_eq!(without_indexes("a[12].b[name=x].c"), "a[].b[name=x].c");
    }
}
