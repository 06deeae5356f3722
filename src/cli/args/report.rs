//! The options for reports that `check` and `diff` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::choice::{ReportArg, report};

/// The options for reports, given the formats of the command.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs<F>
where
    F: ValueEnum + Clone + Default + Send + Sync + 'static,
{
    /// The format of the report.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(in crate::cli) output_format: F,

    /// Also write a report to a file (repeatable), in a format of --output-format.
    ///
    /// The format summary appends to the file; other formats replace it.
    #[arg(long = "report", value_name = "FORMAT=FILE", value_parser = report::<F>, help_heading = "Report")]
    pub(in crate::cli) reports: Vec<ReportArg<F>>,

    /// The directory that paths in reports are relative to, such as the root of the repository
    /// [default: the working directory; to compare revisions, the root of the repository].
    ///
    /// Applies to sarif, github, gitlab, junit, summary, markdown and html.
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    pub(in crate::cli) report_root: Option<PathBuf>,

    /// Exit with code 1 if no workload is found, for example because a path is wrong or a chart is not rendered.
    ///
    /// The value not-judged of --fail-on requires the verdicts of all workloads.
    #[arg(long, help_heading = "Report")]
    pub(in crate::cli) require_workloads: bool,
}
