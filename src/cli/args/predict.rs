//! The options of `meshprobe predict`.

use clap::Args;

use super::choice::TableFormat;
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

    #[command(flatten)]
    pub(in crate::cli) environments: EnvironmentArgs,

    /// Show the facts behind each verdict: value, certainty and provenance.
    #[arg(long, conflicts_with = "output_format", help_heading = "Report")]
    pub(in crate::cli) explain: bool,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}
