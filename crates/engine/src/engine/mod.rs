//! Runs the lower layers on a set of files: load, check, fix, rewrite, write.
//!
//! This module neither prints nor exits. Results do not depend on threads: files are sorted before every parallel step,
//! and findings after it.

mod added_suppressions;
mod ambiguous_config;
mod analysis;
mod chart_run;
mod check;
mod context_fixes;
mod document_diagnostics;
mod emit;
mod fix;
mod fix_history;
mod fix_round;
mod input_diagnostics;
mod levels;
mod load;
mod not_judged;
mod outcome;
mod panic_isolation;
mod place_fixes;
#[cfg(debug_assertions)]
pub mod planted_panic;
mod predicted;
mod predicted_probes;
mod probe_report;
mod rendered_templates;
mod rewrite;
mod rewrite_counts;
mod summary;
mod suppress;
mod symptom_probes;
mod unsupported_parts;
mod vm;
mod write;

pub use added_suppressions::{AddedSuppressions, add_ignore, suppression_edit};
pub use analysis::{Analysis, Predictions, analyse, check, predict, rendered};
pub use chart_run::{ChartRun, chart_runs};
pub(crate) use check::{finish, judge, problems};
pub use fix::{Fixed, fix, fix_unknown};
pub use input_diagnostics::input_diagnostics;
pub use load::{load, unread_paths};
pub use meshprobe_deploy::kustomize::Rendering;
pub use meshprobe_rules::rules::notices::{Notice, PROBE_REGRESSION, explained, rule_names};
pub use outcome::{Exit, Outcome, UnknownEnvironments, failing};
pub(crate) use panic_isolation::isolate_panics;
pub use panic_isolation::{PanicReport, catch_panic, how_to_report, record_panic};
pub(crate) use predicted::Predicted;
pub use predicted::{AnalysisRequest, Fixes};
pub use predicted_probes::report;
pub use probe_report::{
    DocumentKey, PositionRange, ProbeReport, ReasonEntry, RenderedEntry, WorkloadReport,
    source_location,
};
pub use rewrite::{Rewritten, proxies, rewrite, undo};
pub use rewrite_counts::{RewriteCounts, WorkloadResult};
pub use summary::{ContextCounts, FileCounts, MissingFacts, Summary, unread_context};
pub use suppress::suppress_known;
pub use symptom_probes::{SymptomProbe, symptom_probes};
pub use vm::{GeneratedFile, GeneratedFiles, mesh_yamls, write_generated};
pub use write::{Changed, WriteFailure, append_report, is_read, write_all, write_report};
