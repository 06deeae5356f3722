//! What all renderings of a run may hold in memory.
//!
//! Kustomizations multiply: a few kilobytes of them stand for millions of objects. What is counted is what is
//! alive, in estimated bytes; how much work it was to make does not matter here.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::source::{Document, SourceSet};

use super::origin::OriginMap;
use super::resource::Resource;

/// What renderings may always hold: bytes.
const FLOOR: usize = 192 << 20;
/// What they may hold for each byte of the files that were read.
const PER_BYTE: usize = 16;
/// An object on its way through a kustomization, by whether it is still the document of a file.
const INTACT: usize = 256;
const CHANGED: usize = 1_536;
/// What is predicted and found about a pod, and what is kept of any other object.
const POD: usize = 6 << 10;
const OTHER: usize = 1 << 10;
/// A node of a tree, and its place in the files.
const NODE: usize = 64;

/// The memory that renderings hold, and may hold.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    held: AtomicUsize,
    /// Nothing is rendered any more once something did not fit.
    stops: bool,
    exceeded: AtomicBool,
}

impl Budget {
    /// Returns the budget of a run.
    pub(super) fn of(sources: &SourceSet) -> Self {
        Self::with(limit(sources), false)
    }

    /// Returns the budget for a first attempt on several threads, which ends as soon as it is exceeded: which
    /// rendering exceeds it depends on the threads.
    pub(super) fn of_attempt(sources: &SourceSet) -> Self {
        Self::with(limit(sources), true)
    }

    /// Returns the budget that goes on after an attempt that fitted.
    pub(super) fn settled(&self) -> Self {
        let held = self.held.load(Ordering::Relaxed);
        Self {
            held: AtomicUsize::new(held),
            ..Self::with(self.limit, false)
        }
    }

    fn with(limit: usize, stops: bool) -> Self {
        Self {
            limit,
            held: AtomicUsize::new(0),
            stops,
            exceeded: AtomicBool::new(false),
        }
    }

    /// Takes `bytes`; `false` where they do not fit.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let take = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.limit);
        let taken = !self.is_over()
            && self
                .held
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok();
        if !taken {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        taken
    }

    /// Gives back what [`Budget::hold`] took.
    pub(super) fn release(&self, bytes: usize) {
        let give = |held: usize| Some(held.saturating_sub(bytes));
        let _ = self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }

    /// Tells whether something did not fit.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// Tells whether to stop rendering.
    pub(super) fn is_over(&self) -> bool {
        self.stops && self.is_exceeded()
    }
}

fn limit(sources: &SourceSet) -> usize {
    let read: usize = sources.files.iter().map(|file| file.text.len()).sum();
    let ordinary = FLOOR.max(read.saturating_mul(PER_BYTE));
    sources.max_rendered.unwrap_or(ordinary)
}

/// Estimates what objects hold while kustomizations pass them on.
pub(super) fn of_resources(resources: &[Resource]) -> usize {
    let one = |resource: &Resource| if resource.is_intact { INTACT } else { CHANGED };
    resources.iter().map(one).sum()
}

/// Estimates what a rendered object holds, and what is worked out about it.
pub(super) fn of_document(document: &Document, origin: &OriginMap, is_pod: bool) -> usize {
    let judged = if is_pod { POD } else { OTHER };
    // A document that nothing changes is the one of the file.
    let own = !origin.is_same();
    let tree = document.tree().filter(|_| own);
    let tree = tree.map_or(0, |tree| tree.segment().len() + tree.node_count() * NODE);
    judged + tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let budget = Budget::with(100, false);
        assert!(budget.hold(60) && !budget.hold(41) && budget.is_exceeded());
        // What is smaller may still fit.
        assert!(budget.hold(40) && !budget.is_over());
        budget.release(60);
        assert!(budget.hold(60) && !budget.hold(1));
    }

    #[test]
    fn an_attempt_ends_with_the_first_that_does_not_fit() {
        let budget = Budget::with(100, true);
        assert!(budget.hold(60) && !budget.hold(41));
        assert!(budget.is_over() && !budget.hold(1));
    }

    #[test]
    fn more_input_may_hold_more() {
        let sources = SourceSet::from_text("a.yaml", "a: b\n");
        assert_eq!(limit(&sources), FLOOR);
        let sources = SourceSet::from_text("a.yaml", &format!("# {}\n", "x".repeat(FLOOR / 8)));
        assert!(limit(&sources) > FLOOR);
        let sources = SourceSet {
            max_rendered: Some(5),
            ..sources
        };
        assert_eq!(limit(&sources), 5);
    }
}
