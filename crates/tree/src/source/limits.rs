//! The limits of a run: sizes, depths and numbers of values.
//!
//! Public repositories stay below a fifth of the numbers of values: of 95, the largest file has 60,000 lines, and the
//! largest repository half a million.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Size of a file in bytes.
pub const FILE_SIZE: u64 = 16 << 20;
/// Size of standard input, and of the output of a renderer, in bytes.
pub const STREAM_SIZE: u64 = 128 << 20;
/// Values of the documents of a file.
pub const FILE_VALUES: usize = 1_000_000;
/// Values of all files of a run.
pub const PARSED_VALUES: usize = 12_000_000;

/// Values that a kustomization adds to its objects, and the parts of notes about them.
pub const ADDED_VALUES: usize = 500_000;
/// Values of all renderings of a run.
pub const RENDERED_VALUES: usize = 4_000_000;
/// Values of an object that a kustomization changes, with aliases expanded.
pub const OBJECT_VALUES: usize = 200_000;
/// Items of a list into which a patch is merged.
pub const LIST_ITEMS: usize = 2_000;
/// Depth of nested kustomizations.
pub const NESTED_KUSTOMIZATIONS: usize = 32;
/// Depth of objects that deploy other objects.
pub const NESTED_DEPLOYMENTS: usize = 5;
/// Steps of renderings for each kustomization, and for all that include each other. Comparing an object is a step.
pub const STEPS: usize = 200_000;
pub const ALL_STEPS: usize = 20_000_000;

/// The number of values that the trees of a run have, shared by threads, and its limit.
#[derive(Debug)]
pub struct ValueCount {
    limit: usize,
    count: AtomicUsize,
    is_exceeded: AtomicBool,
}

impl ValueCount {
    /// Creates a count with a limit.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            count: AtomicUsize::new(0),
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Adds values; returns `false` if there would be more than the limit.
    pub fn add(&self, values: usize) -> bool {
        let sum = |count: usize| count.checked_add(values).filter(|sum| *sum <= self.limit);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let fits = self.count.fetch_update(set, fetch, sum).is_ok();
        if !fits {
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// Subtracts values that were added.
    pub fn subtract(&self, values: usize) {
        self.count.fetch_sub(values, Ordering::Relaxed);
    }

    /// Sets the number to the limit, so that no more values can be added.
    pub fn exhaust(&self) {
        self.count.store(self.limit, Ordering::Relaxed);
        self.is_exceeded.store(true, Ordering::Relaxed);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the number of values that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.count())
    }

    /// Returns whether values were refused.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }
}
