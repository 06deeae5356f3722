//! The options of `meshprobe rule` and `meshprobe schema`.

use clap::Args;

use super::choice::{RuleFormat, SchemaKind};

#[derive(Debug, Args)]
pub(in crate::cli) struct RuleArgs {
    /// The id of a rule or guard; without it, all are listed with a summary.
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(in crate::cli) id: Option<String>,

    /// Explain all rules and guards.
    #[arg(long)]
    pub(in crate::cli) all: bool,

    /// The format of the output; JSON always contains all rules and guards.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        conflicts_with = "id"
    )]
    pub(in crate::cli) output_format: RuleFormat,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SchemaArgs {
    /// What to print.
    #[arg(value_name = "OF", value_enum, default_value_t)]
    pub(in crate::cli) of: SchemaKind,
}
