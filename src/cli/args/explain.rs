//! The options of `meshprobe explain`.

use clap::{Arg, Args};

use super::choice::ExplainFormat;
use super::common::Common;

#[derive(Debug, Args)]
#[command(mut_args(with_own_help))]
pub(in crate::cli) struct ExplainArgs {
    /// The text of an event, such as "Readiness probe failed: …"; `-` reads it from standard input.
    ///
    /// Several lines are accepted, such as the output of `kubectl describe pod`; addresses, ports and names of pods do not
    /// matter. The id of a symptom or a rule shows its page. Without a text, all symptoms are listed.
    #[arg(value_name = "TEXT")]
    pub(in crate::cli) text: Option<String>,

    /// The format of the output.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(in crate::cli) output_format: ExplainFormat,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

/// Replaces the help of the paths, which have no default here.
fn with_own_help(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "paths" => argument.help(
            "Manifests in which to look for probes with this text; without paths, no manifests are read",
        ),
        _ => argument,
    }
}
