//! What a report for machines is made of.

use crate::engine::Outcome;
use crate::finding::{Finding, Severity};
use crate::settings::FailOn;
use crate::source::SourceSet;

use super::root::Root;

/// The results of a run, and what a report has to know of the run beside them.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// All files.
    pub set: &'a SourceSet,
    /// What was found in them.
    pub outcome: &'a Outcome,
    /// Where paths start.
    pub root: &'a Root,
    /// From which severity on the run fails.
    pub fail_on: FailOn,
}

impl<'a> Results<'a> {
    /// The findings that are not silenced, the worst first, the surest first among these; else in
    /// their order.
    pub(super) fn worst_first(&self) -> Vec<&'a Finding> {
        let mut findings: Vec<&Finding> = self.outcome.findings.iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.certainty)));
        findings
    }

    /// Tells whether a finding makes the run fail.
    pub(super) fn fails(&self, finding: &Finding) -> bool {
        crate::engine::failing(std::slice::from_ref(finding), self.fail_on)
    }
}

/// The severities, the worst first.
pub(super) const WORST_FIRST: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];
