//! The input of reports for programs.

use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_mesh::settings::{FailOn, RequiredVerdicts};
use meshprobe_tree::source::SourceSet;

use super::report_root::{Places, ReportRoot};
use meshprobe_engine::engine::Outcome;

/// The result of a run, with the settings of its reports.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// All files.
    pub set: &'a SourceSet,
    /// The result of the check.
    pub outcome: &'a Outcome,
    /// The folder to which paths are relative.
    pub root: &'a ReportRoot,
    /// The findings that make the run fail.
    pub fail_on: FailOn,
    /// The verdicts without which the run fails.
    pub required: RequiredVerdicts,
    /// The `baselineState` of all results in SARIF; `None` if the run is not compared with another one.
    pub baseline_state: Option<&'static str>,
    /// What the reader must know about the run.
    pub notes: &'a [String],
}

impl<'a> Results<'a> {
    /// Returns the findings that are not suppressed, by descending severity and certainty, and otherwise in order.
    pub(super) fn worst_first(&self) -> Vec<&'a Finding> {
        let mut findings: Vec<&Finding> = self.outcome.findings.iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.certainty)));
        findings
    }

    /// Returns the places of the report.
    pub(super) const fn places(&self) -> Places<'a> {
        Places {
            set: self.set,
            root: Some(self.root),
        }
    }

    /// Returns the place of a label: the path of its source file, and the line if it is known.
    pub(super) fn place(&self, label: &Label) -> String {
        self.places().place(label)
    }

    /// Returns whether a finding makes the run fail.
    pub(super) fn fails(&self, finding: &Finding) -> bool {
        meshprobe_engine::engine::failing(std::slice::from_ref(finding), self.fail_on)
    }
}

/// The severities in descending order.
pub(super) const WORST_FIRST: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];
