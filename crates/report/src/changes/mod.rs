//! Formats what changes between two states of the manifests.

mod findings;
mod full;
mod json;
mod markdown;
mod words;

use meshprobe_tree::source::SourceSet;

use super::ReportRoot;
use meshprobe_engine::diff::{Comparison, FailOn, State};

pub use findings::{regressions, with_causes};
pub use full::{concise, full, last_lines};
pub use json::ChangeReport;
pub use json::{ChangeCounts, ChangeEntry, PredictionEntry, ProbeEntry};
pub use markdown::markdown;
pub use words::summary;

/// One of the two states.
#[derive(Clone, Copy, Debug)]
pub struct ReportedState<'a> {
    /// The name for people, such as "`v1.2` (3c1f2a9)" or "the working tree".
    pub name: &'a str,
    /// The predictions and findings.
    pub state: &'a State,
    /// The files.
    pub set: &'a SourceSet,
}

/// The changes between two states.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// The first state.
    pub before: ReportedState<'a>,
    /// The second state.
    pub after: ReportedState<'a>,
    /// What differs.
    pub comparison: &'a Comparison,
    /// The changes that make the run fail.
    pub fail_on: FailOn,
    /// The folder that paths are relative to; `None` to show them as the user names them.
    pub root: Option<&'a ReportRoot>,
}

impl<'a> Changes<'a> {
    /// Returns the same changes with paths relative to a folder.
    #[must_use]
    pub const fn relative_to(&self, root: &'a ReportRoot) -> Self {
        Self {
            root: Some(root),
            ..*self
        }
    }
}
