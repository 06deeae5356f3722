//! Names what a release of Istio changed, for the upgrade check.

mod facts;
mod patch_levels;
mod release_fact;

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Version;
use meshprobe_predict::context::REWRITE_SETTLE;

use super::cause::Cause;
use super::change::{Change, Comparison, Subject};
use facts::FACTS;
use release_fact::{Effect, ReleaseFact, effects_on_probe, refusal_of};

pub use patch_levels::patch_level_note;

/// Names the changed behaviour as the cause of each change between two releases of Istio, as far as one is recorded.
/// Changes without one keep their cause.
pub fn explain_releases(comparison: &mut Comparison, before: Version, after: Version) {
    let between = Between::new(before, after);
    let mut facts: Vec<Option<&ReleaseFact>> = Vec::new();
    for change in &comparison.changes {
        facts.push(fact_of(change, between));
    }
    let explained = of_objects(&comparison.changes, &facts);
    for (change, fact) in comparison.changes.iter_mut().zip(facts) {
        let of_object = || {
            explained
                .get(&object_of_finding(change.finding()?)?)
                .copied()
        };
        if let Some(fact) = fact.or_else(of_object) {
            change.cause = Some(Cause::fact(&fact.sentence(), fact.source));
        }
    }
}

/// The file, the kind and the name of an object.
type ObjectKey = (Arc<str>, String, String);

/// Returns the facts behind the changes of handlers, by object: they are also behind the findings about these objects, such
/// as one about an annotation that has no effect any more.
fn of_objects<'f>(
    changes: &[Change],
    facts: &[Option<&'f ReleaseFact>],
) -> HashMap<ObjectKey, &'f ReleaseFact> {
    let mut explained = HashMap::new();
    for (change, fact) in changes.iter().zip(facts) {
        if let Some((probe, fact)) = change.probe().zip(*fact) {
            let path = Arc::clone(&probe.place.path);
            let key = (path, probe.id.kind.clone(), probe.id.name.clone());
            explained.entry(key).or_insert(fact);
        }
    }
    explained
}

fn object_of_finding(finding: &Finding) -> Option<ObjectKey> {
    let object = finding.object.as_ref()?;
    let path = Arc::clone(&finding.primary.path);
    Some((path, object.kind.clone(), object.name.clone()))
}

/// Returns the sentences about all recorded changes of behaviour, in the order of the releases.
#[must_use]
pub fn release_facts() -> Vec<String> {
    FACTS.iter().map(ReleaseFact::sentence).collect()
}

/// Two releases, and which facts explain a difference between them.
#[derive(Clone, Copy, Debug)]
struct Between {
    older: Version,
    newer: Version,
}

impl Between {
    fn new(one: Version, other: Version) -> Self {
        let is_sorted = (one, one.patch()) <= (other, other.patch());
        let (older, newer) = if is_sorted {
            (one, other)
        } else {
            (other, one)
        };
        Self { older, newer }
    }

    fn separated_by(self, fact: &ReleaseFact) -> bool {
        fact.separates(self.older, self.newer)
    }

    fn settled_by(self, fact: &ReleaseFact) -> bool {
        fact.settles(self.older, self.newer)
    }
}

fn fact_of(change: &Change, between: Between) -> Option<&'static ReleaseFact> {
    let find = |effect: &Effect| {
        let mut facts = FACTS.iter();
        facts.find(|fact| fact.effect == *effect && between.separated_by(fact))
    };
    // The patch level of one release is not known, and that of the other does not matter.
    let find_settled = |effect: &Effect| {
        let mut facts = FACTS.iter();
        facts.find(|fact| fact.effect == *effect && between.settled_by(fact))
    };
    match &change.subject {
        Subject::Probe {
            before: Some(before),
            after: Some(after),
        } => {
            let effects = effects_on_probe(before, after);
            let certain = effects.iter().find_map(find);
            certain.or_else(|| effects.iter().find_map(find_settled))
        }
        Subject::Probe { .. } => None,
        Subject::NewFinding(finding) | Subject::GoneFinding(finding) => {
            let is_about = |fact: &&ReleaseFact| {
                fact.rules.contains(&finding.rule.as_str()) && between.separated_by(fact)
            };
            let candidates: Vec<&ReleaseFact> = FACTS.iter().filter(is_about).collect();
            // Several facts share the rule about annotations that the injector refuses.
            let effect = finding.field.as_deref().map(refusal_of);
            let exact = candidates.iter().find(|fact| Some(fact.effect) == effect);
            let of_rule = exact.or(candidates.first()).copied();
            of_rule
                .or_else(|| find(&Effect::RewriteByDefault).filter(|_| depends_on_default(finding)))
        }
    }
}

/// Rules that report only pods whose probes are rewritten, without a fact among their assumptions.
const ONLY_REWRITTEN: [&str; 3] = [
    "exec-curl-to-itself",
    "lifecycle-hook-host-rewritten",
    "stale-probe-exception",
];

/// Returns whether a finding depends on the default of the release for the rewrite.
fn depends_on_default(finding: &Finding) -> bool {
    if ONLY_REWRITTEN.contains(&finding.rule.as_str()) {
        return true;
    }
    let mut assumptions = finding.assumptions.iter();
    assumptions.any(|known| known.option.as_deref() == Some(REWRITE_SETTLE))
}
