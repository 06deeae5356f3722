//! The options of `meshprobe mcp`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct McpArgs {
    /// A directory whose files the client may read, in addition to its own roots (repeatable).
    ///
    /// Without this option, a client that does not support roots may read the working directory, unless that is the
    /// home directory or the root of the file system.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) root: Vec<PathBuf>,

    /// The time limit of one call in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::cli) timeout: u16,
}
