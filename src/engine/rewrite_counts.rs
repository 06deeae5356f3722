//! Counts what a rewrite or an undo does with the workloads.

use std::collections::BTreeSet;
use std::sync::Arc;

/// What a rewrite or an undo does with a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadResult {
    /// It is changed.
    Changed,
    /// It is changed for a preview.
    Previewed,
    /// It is not changed, and a finding has the reason.
    Refused,
    /// Its owner, or the template that it selects, has switched the rewrite off.
    OptedOut,
    /// Nothing has to be changed.
    Unneeded,
}

/// The number of workloads by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteCounts {
    /// All workloads.
    pub workloads: usize,
    /// Workloads that are changed.
    pub changed: usize,
    /// Workloads that are changed for a preview.
    pub previewed: usize,
    /// Workloads that are refused.
    pub refused: usize,
    /// Workloads whose files could not be written.
    pub unwritten: usize,
    /// Workloads for which the rewrite is switched off.
    pub opted_out: usize,
    /// Workloads that need no change.
    pub unneeded: usize,
}

impl RewriteCounts {
    /// Counts the results of workloads, each with its file. Changes of the files in `unwritten` do not count as made.
    #[must_use]
    pub fn of(results: &[(Arc<str>, WorkloadResult)], unwritten: &BTreeSet<Arc<str>>) -> Self {
        let mut counts = Self::default();
        for (path, result) in results {
            counts.workloads += 1;
            let count = match result {
                WorkloadResult::Changed | WorkloadResult::Previewed if unwritten.contains(path) => {
                    &mut counts.unwritten
                }
                WorkloadResult::Changed => &mut counts.changed,
                WorkloadResult::Previewed => &mut counts.previewed,
                WorkloadResult::Refused => &mut counts.refused,
                WorkloadResult::OptedOut => &mut counts.opted_out,
                WorkloadResult::Unneeded => &mut counts.unneeded,
            };
            *count += 1;
        }
        counts
    }
}
