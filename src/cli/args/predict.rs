//! The options of `meshprobe predict`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{ReportArg, TableFormat, report};
use super::common::Common;
use super::environments::EnvironmentArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct PredictArgs {
    /// The format of the output.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(in crate::cli) output_format: TableFormat,

    /// Also write the predictions to a file (repeatable), in a format of --output-format.
    #[arg(long = "report", value_name = "FORMAT=FILE", value_parser = report::<TableFormat>, help_heading = "Report")]
    pub(in crate::cli) reports: Vec<ReportArg<TableFormat>>,

    /// The directory that paths in reports are relative to, such as the root of the repository
    /// [default: the working directory].
    ///
    /// Applies to html.
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    pub(in crate::cli) report_root: Option<PathBuf>,

    #[command(flatten)]
    pub(in crate::cli) environments: EnvironmentArgs,

    /// Show the facts behind each verdict: value, certainty and provenance.
    #[arg(long, conflicts_with = "output_format", help_heading = "Report")]
    pub(in crate::cli) explain: bool,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}
