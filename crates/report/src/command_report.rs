//! The report of a command, for callers in the same process.

use super::changes::ChangeReport;
use super::json::{CheckReport, PredictReport};

/// The report of a command as plain data.
#[derive(Debug)]
pub enum Report {
    /// That of `check`.
    Check(CheckReport),
    /// That of `predict`.
    Predict(PredictReport),
    /// That of `diff`.
    Changes(ChangeReport),
}
