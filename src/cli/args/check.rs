//! The options of `meshprobe check`.

use std::path::PathBuf;

use clap::Args;

use super::choice::{FailOnArg, OutputFormat, ReportArg, SeverityArg, report};
use super::common::Common;
use super::environments::EnvironmentArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    /// The format of the report.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(in crate::cli) output_format: OutputFormat,

    /// Also write a report to a file (repeatable), in a format of --output-format.
    ///
    /// The format summary appends to the file; other formats replace it.
    #[arg(long = "report", value_name = "FORMAT=FILE", value_parser = report::<OutputFormat>, help_heading = "Report")]
    pub(in crate::cli) reports: Vec<ReportArg<OutputFormat>>,

    /// The directory that paths in reports are relative to, such as the root of the repository
    /// [default: the working directory].
    ///
    /// Applies to sarif, github, gitlab, junit and summary.
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    pub(in crate::cli) report_root: Option<PathBuf>,

    /// Exit with code 1 on findings of this severity or above [default: warning].
    #[arg(long, value_name = "SEVERITY", value_enum, help_heading = "Report")]
    pub(in crate::cli) fail_on: Option<FailOnArg>,

    /// Exit with code 1 if no workload is found, for example because a path is wrong or a chart is not rendered.
    #[arg(long, help_heading = "Report")]
    pub(in crate::cli) require_workloads: bool,

    /// Report only findings of this severity or above; ignore all others.
    #[arg(long, value_name = "SEVERITY", value_enum, help_heading = "Report")]
    pub(in crate::cli) min_severity: Option<SeverityArg>,

    #[command(flatten)]
    pub(in crate::cli) environments: EnvironmentArgs,

    /// Show the number of findings per rule instead of the findings.
    #[arg(long, help_heading = "Report")]
    pub(in crate::cli) statistics: bool,

    /// Run only these rules (repeatable, or separated by commas); unreadable files are still reported.
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(in crate::cli) select: Vec<String>,

    /// Ignore these rules (repeatable, or separated by commas).
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(in crate::cli) ignore: Vec<String>,

    /// Write a suppression comment with this reason above every finding, so that later runs report only new findings.
    #[arg(long, value_name = "REASON", conflicts_with_all = ["fix", "diff", "statistics"], help_heading = "Rules")]
    pub(in crate::cli) add_ignore: Option<String>,

    /// Do not report the findings in this file, which --write-baseline has written.
    ///
    /// They are counted as suppressed. An entry matches by rule, file, object, container and field, so unrelated changes
    /// do not affect it. A note names the number of entries that no longer occur.
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(in crate::cli) baseline: Option<PathBuf>,

    /// Write the present findings to this file, for --baseline, and exit with code 0.
    ///
    /// Entries of files that are not below the given paths are kept.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["baseline", "fix", "diff", "add_ignore", "select", "ignore", "min_severity", "overlay"],
        help_heading = "Rules"
    )]
    pub(in crate::cli) write_baseline: Option<PathBuf>,

    /// Report every probe that the mesh would still rewrite at admission.
    ///
    /// Use it at the end of a pipeline: without --enable-exec, for example, kustomize silently skips
    /// the function that rewrites the probes.
    #[arg(long, help_heading = "Rules")]
    pub(in crate::cli) require_rewritten: bool,

    /// Apply safe fixes to the files.
    #[arg(long, group = "fixing", help_heading = "Fixes")]
    pub(in crate::cli) fix: bool,

    /// With --fix or --diff: also apply fixes that may change the behaviour of running pods.
    #[arg(long, requires = "fixing", help_heading = "Fixes")]
    pub(in crate::cli) unsafe_fixes: bool,

    /// Show the changes of --fix as a diff, without writing files; exit with code 1 if there are any.
    #[arg(long, group = "fixing", help_heading = "Fixes", conflicts_with_all = ["fix", "output_format", "reports"])]
    pub(in crate::cli) diff: bool,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}
