//! The options of `meshprobe diff`.

use clap::{Args, ValueEnum};

use super::super::session::Audience;
use super::common::Common;
use super::environments::EnvironmentArgs;
use super::report::ReportArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct DiffArgs {
    /// Compare with this revision of git [default: the default branch of the remote].
    ///
    /// Without --until, the merge base with HEAD is compared with the working tree, so that later changes of that
    /// branch are not shown. With --until, exactly these two revisions are compared.
    #[arg(long, value_name = "REV", help_heading = "States")]
    pub(in crate::cli) since: Option<String>,

    /// Compare this revision of git instead of the working tree.
    #[arg(long, value_name = "REV", help_heading = "States")]
    pub(in crate::cli) until: Option<String>,

    /// Compare the staged files with HEAD, for a pre-commit hook.
    #[arg(
        long,
        alias = "cached",
        conflicts_with_all = ["since", "until"],
        help_heading = "States"
    )]
    pub(in crate::cli) staged: bool,

    /// Set a fact in the first state only (repeatable).
    ///
    /// Keys: as for --assume, and mesh-version. The fact takes precedence over the manifests.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["since", "until", "staged"], help_heading = "States")]
    pub(in crate::cli) from: Vec<String>,

    /// Set a fact in the second state only (repeatable); keys as for --from.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["since", "until", "staged"], help_heading = "States")]
    pub(in crate::cli) to: Vec<String>,

    /// Apply --from and --to only to pods of this namespace (repeatable).
    #[arg(long, value_name = "NAMESPACE", help_heading = "States")]
    pub(in crate::cli) select_namespace: Vec<String>,

    /// Apply --from and --to only to workloads with these labels (repeatable, or separated by commas).
    #[arg(
        long,
        value_name = "LABEL=VALUE",
        value_delimiter = ',',
        help_heading = "States"
    )]
    pub(in crate::cli) select_labels: Vec<String>,

    /// Exit with code 1 on changes of this class [default: regression].
    ///
    /// After a comma, or alone, not-judged is added to the class: `--fail-on removed,not-judged`.
    #[arg(
        long,
        value_name = "CLASS",
        value_enum,
        value_delimiter = ',',
        help_heading = "Report"
    )]
    pub(in crate::cli) fail_on: Vec<DiffFailOnArg>,

    #[command(flatten)]
    pub(in crate::cli) report: ReportArgs<ChangeFormat>,

    #[command(flatten)]
    pub(in crate::cli) environments: EnvironmentArgs,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DiffFailOnArg {
    /// On regressions, and on new probes with a fault.
    Regression,
    /// Like `regression`, and on probes that do not exist any more, or that an environment does not deploy any more.
    Removed,
    /// On any change, also if an outcome is not known any more, or if something that is not judged differs.
    Any,
    /// On no change.
    Never,
    /// Also if something that is not judged differs, or is not judged any more.
    NotJudged,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ChangeFormat {
    /// Changes by cause, with lines of the manifests and a table of the probes.
    #[default]
    Full,
    /// One line per change.
    Concise,
    /// JSON, version 1.
    Json,
    /// SARIF 2.1.0 with the regressions, for GitHub code scanning.
    Sarif,
    /// GitHub annotations of the regressions and their causes, at most ten of each type.
    Github,
    /// GitLab Code Quality with the regressions.
    Gitlab,
    /// JUnit XML with the regressions, one test suite per file.
    Junit,
    /// Markdown, for a comment on a pull request or the summary of a job.
    Markdown,
    /// A page for a browser with both states of each probe, in one file.
    Html,
}

impl ChangeFormat {
    /// Returns who reads the format.
    pub(in crate::cli) const fn audience(self) -> Audience {
        match self {
            Self::Full | Self::Concise | Self::Markdown => Audience::People,
            Self::Json | Self::Sarif | Self::Github | Self::Gitlab | Self::Junit | Self::Html => {
                Audience::Programs
            }
        }
    }
}
