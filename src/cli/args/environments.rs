//! The options that limit a report to some environments.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct EnvironmentArgs {
    /// Report only this overlay or cluster (repeatable), by its name, such as prod-eu, or its path.
    ///
    /// The names are those that reports show, such as `in: prod-eu`. Files that belong to no environment are part of all.
    /// Facts are not affected.
    #[arg(
        long,
        visible_alias = "cluster",
        value_name = "NAME",
        help_heading = "Report"
    )]
    pub(in crate::cli) overlay: Vec<String>,
}
