//! Counts the findings that the rounds of a run with `--fix` removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::changed::Changed;
use super::fix_history::{Key, key};
use super::outcome::Outcome;

/// The findings of all rounds. A finding whose location has changed is the same.
#[derive(Debug)]
pub(super) struct FoundFindings {
    first: BTreeMap<Key, usize>,
    /// The greatest number of equal findings in a round.
    most: BTreeMap<Key, usize>,
}

impl FoundFindings {
    /// Creates the record from the findings before the first fix.
    pub(super) fn new(first: &Outcome) -> Self {
        let first = counts(first);
        Self {
            most: first.clone(),
            first,
        }
    }

    /// Adds the findings after a round, some of which its fixes may have revealed.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        for (key, count) in counts(outcome) {
            let most = self.most.entry(key).or_default();
            *most = count.max(*most);
        }
    }

    /// Returns how many findings `last` no longer contains. In a file without changes, only those before the first fix
    /// count: a fix that was reverted has revealed the others.
    pub(super) fn fixed(&self, last: &Outcome, changed: &[Changed]) -> usize {
        let changed: BTreeSet<&Arc<str>> = changed.iter().map(|file| &file.path).collect();
        let remaining = counts(last);
        let fixed = self.most.iter().map(|(key, most)| {
            let found = match changed.contains(&key.0) {
                true => *most,
                false => self.first.get(key).copied().unwrap_or_default(),
            };
            found.saturating_sub(remaining.get(key).copied().unwrap_or_default())
        });
        fixed.sum()
    }
}

fn counts(outcome: &Outcome) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for finding in &outcome.findings {
        *counts.entry(key(finding)).or_default() += 1;
    }
    counts
}
