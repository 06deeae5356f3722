//! Prepares predictions for output: as rows, as explanations and as JSON.

mod explanation;
mod explanation_lines;
mod json;
mod markdown;
mod merged_explanations;
mod probe_view;
mod row;
mod shown;
mod workload_rows;

pub use explanation::{explanations, explanations_at};
pub use explanation_lines::{Explanation, Line, Noted};
pub use json::PredictReport;
#[cfg(feature = "mcp")]
pub(crate) use json::{HandlerReport, MachineReport, WorkloadReport};
pub use markdown::explanation_markdown;
pub(in crate::report) use probe_view::own_certainty;
pub use probe_view::{DecidingLine, ProbeView, probe_views};
pub use row::{Row, rows};
pub use workload_rows::{WorkloadRows, table};
