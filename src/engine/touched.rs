//! What a run of fixes may not undo: the values that it wrote, and what silenced a finding when it began.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::{Applicability, Finding, Fix, ObjectRef};
use crate::yaml::{Change, Route};

use super::check::Outcome;
use super::notices::UNUSED_SUPPRESSION;
use super::route_set::RouteSet;

/// What a finding is, wherever it has moved to.
pub(super) type Key = (
    Arc<str>,
    usize,
    &'static str,
    Option<ObjectRef>,
    Option<String>,
    Option<String>,
);

/// Returns what tells a finding from others in every round.
pub(super) fn key(finding: &Finding) -> Key {
    (
        Arc::clone(&finding.primary.path),
        finding.document,
        finding.rule,
        finding.object.clone(),
        finding.container.clone(),
        finding.field.clone(),
    )
}

/// The findings that a run began with, and what its fixes wrote.
#[derive(Debug)]
pub(super) struct Touched {
    known: BTreeSet<Key>,
    /// Suppressions that silenced nothing before anything was fixed, by what is said of them.
    idle: BTreeMap<(Arc<str>, String), usize>,
    written: BTreeMap<(Arc<str>, usize), RouteSet>,
}

impl Touched {
    /// Starts with what was found in the files as they were.
    pub(super) fn new(first: &Outcome) -> Self {
        Self {
            known: first.findings.iter().map(key).collect(),
            idle: idle(first),
            written: BTreeMap::new(),
        }
    }

    /// Lists the findings of a round whose fixes may be applied: what a fix of this run uncovered does
    /// not change again what that fix wrote, and what silenced a finding at the start stays.
    pub(super) fn admitted<'f>(&self, outcome: &'f Outcome) -> Vec<&'f Finding> {
        let now = idle(outcome);
        let findings = outcome.findings.iter().filter(|finding| {
            if finding.rule == UNUSED_SUPPRESSION {
                let name = name(finding);
                return now.get(&name) <= self.idle.get(&name);
            }
            self.known.contains(&key(finding)) || !self.rewrites(finding.fix.as_ref())
        });
        findings.collect()
    }

    fn rewrites(&self, fix: Option<&Fix>) -> bool {
        let Some(fix) = fix else { return false };
        let written = self.written.get(&(Arc::clone(&fix.path), fix.document));
        let mut routes = fix.changes.iter().map(Change::route);
        written.is_some_and(|written| routes.any(|route| written.has_within(route)))
    }

    /// Remembers what fixes write.
    pub(super) fn note(&mut self, fixes: &[&Fix]) {
        for fix in fixes {
            let key = (Arc::clone(&fix.path), fix.document);
            let known = self.written.entry(key).or_default();
            for route in fix.changes.iter().filter_map(written) {
                known.insert(&route);
            }
        }
    }
}

/// Where a change leaves a value of its own.
fn written(change: &Change) -> Option<Route> {
    match change {
        Change::Set { route, .. } => Some(route.clone()),
        Change::Replace { route, key, .. } => {
            let (holder, _) = route.split_last()?;
            Some(holder.child(key.clone()))
        }
        Change::Push { .. } | Change::Remove { .. } => None,
    }
}

fn name(finding: &Finding) -> (Arc<str>, String) {
    (Arc::clone(&finding.primary.path), finding.message.clone())
}

fn idle(outcome: &Outcome) -> BTreeMap<(Arc<str>, String), usize> {
    let mut counted = BTreeMap::new();
    let all = outcome.findings.iter();
    for finding in all.filter(|finding| finding.rule == UNUSED_SUPPRESSION) {
        *counted.entry(name(finding)).or_default() += 1;
    }
    counted
}

/// Asks for consent where a fix changes what the fix of a silenced finding would change: the user
/// has decided about it.
pub(super) fn respect_silence(silenced: &[Finding], findings: &mut [Finding]) {
    let mut decided: BTreeMap<(Arc<str>, usize), RouteSet> = BTreeMap::new();
    for fix in silenced.iter().filter_map(|one| one.fix.as_ref()) {
        let key = (Arc::clone(&fix.path), fix.document);
        let routes = decided.entry(key).or_default();
        for change in &fix.changes {
            routes.insert(change.route());
        }
    }
    for finding in findings {
        let Some(fix) = finding.fix.as_mut() else {
            continue;
        };
        if fix.applicability != Applicability::Safe {
            continue;
        }
        let decided = decided.get(&(Arc::clone(&fix.path), fix.document));
        let mut routes = fix.changes.iter().map(Change::route);
        if decided.is_some_and(|decided| routes.any(|route| decided.overlaps(route))) {
            fix.applicability = Applicability::Unsafe;
            let said = "a silenced finding rests on the same setting";
            finding.help = Some(match finding.help.take() {
                Some(help) => format!("{help} ({said})"),
                None => format!("{said}: changing it changes what you decided to keep"),
            });
        }
    }
}
