//! The options of `meshprobe check`.

use std::path::PathBuf;

use clap::Args;
use meshprobe_engine::engine::rule_names;
use meshprobe_mesh::finding::RuleId;

use super::choice::{FailOnArg, OutputFormat, SeverityArg};
use super::common::Common;
use super::environments::EnvironmentArgs;
use super::report::ReportArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(in crate::cli) report: ReportArgs<OutputFormat>,

    /// Exit with code 1 on findings of this severity or above [default: warning].
    ///
    /// After a comma, or alone, not-judged is added to the severity: `--fail-on error,not-judged`.
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        value_delimiter = ',',
        help_heading = "Report"
    )]
    pub(in crate::cli) fail_on: Vec<FailOnArg>,

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
        value_parser = reported_rule,
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(in crate::cli) select: Vec<RuleId>,

    /// Ignore these rules (repeatable, or separated by commas).
    #[arg(
        long,
        value_name = "RULE",
        value_parser = reported_rule,
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(in crate::cli) ignore: Vec<RuleId>,

    /// Write a suppression comment with this reason above every finding, so that later runs report only new findings.
    #[arg(long, value_name = "REASON", value_parser = reason, conflicts_with_all = ["fix", "diff", "statistics"], help_heading = "Rules")]
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

fn reported_rule(id: &str) -> Result<RuleId, String> {
    let rule = rule_names().parse_reported(id);
    rule.map_err(|unknown| unknown.message)
}

fn reason(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("expected a reason"),
        reason if reason.contains(['\n', '\r']) => Err("expected a reason on one line"),
        reason => Ok(reason.to_owned()),
    }
}
