//! Names what a release of Istio changed, for the upgrade check.

mod facts;
mod matching;

use crate::mesh::Version;

use super::cause::Cause;
use super::change::{Change, Subject};
use super::comparison::Comparison;
use facts::{Effect, FACTS, ReleaseFact};
use matching::{effects_on_probe, refusal_of};

/// Names the changed behaviour as the cause of each change between two releases of Istio, as far as one is recorded.
/// Changes without one keep their cause.
pub fn explain_releases(comparison: &mut Comparison, before: Version, after: Version) {
    let between = Between::new(before, after);
    for change in &mut comparison.changes {
        if let Some(fact) = fact_of(change, between) {
            change.cause = Some(Cause::fact(&fact.sentence(), fact.source));
        }
    }
}

/// Returns the sentences about all recorded changes of behaviour, in the order of the releases.
#[must_use]
pub fn release_facts() -> Vec<String> {
    FACTS.iter().map(ReleaseFact::sentence).collect()
}

/// The releases between which behaviour differs.
#[derive(Clone, Copy, Debug)]
struct Between {
    older: Version,
    newer: Version,
}

impl Between {
    fn new(one: Version, other: Version) -> Self {
        Self {
            older: one.min(other),
            newer: one.max(other),
        }
    }

    /// Returns whether only one of both releases has the behaviour.
    fn differs(self, fact: &ReleaseFact) -> bool {
        fact.change.is_in(Some(self.older)) != fact.change.is_in(Some(self.newer))
    }
}

fn fact_of(change: &Change, between: Between) -> Option<&'static ReleaseFact> {
    let find = |effect: Effect| {
        let mut facts = FACTS.iter();
        facts.find(|fact| fact.effect == effect && between.differs(fact))
    };
    match &change.subject {
        Subject::Probe {
            before: Some(before),
            after: Some(after),
        } => effects_on_probe(before, after).into_iter().find_map(find),
        Subject::Probe { .. } => None,
        Subject::NewFinding(finding) | Subject::GoneFinding(finding) => {
            let is_about = |fact: &&ReleaseFact| {
                fact.rules.contains(&finding.rule.as_str()) && between.differs(fact)
            };
            let candidates: Vec<&ReleaseFact> = FACTS.iter().filter(is_about).collect();
            // Several facts share the rule about annotations that the injector refuses.
            let effect = finding.field.as_deref().map(refusal_of);
            let exact = candidates.iter().find(|fact| Some(fact.effect) == effect);
            exact.or(candidates.first()).copied()
        }
    }
}
