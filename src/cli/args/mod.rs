//! Commands and options. The doc comments are the text of `--help`.

mod check;
mod choice;
mod cli;
mod common;
mod diff;
mod environments;
mod explain;
mod lsp;
mod mcp;
mod predict;
mod report;
mod rewrite;
mod rule;

pub(super) use check::CheckArgs;
pub(super) use choice::{
    ColorArg, ExplainFormat, FailOnArg, OutputFormat, ReportArg, RuleFormat, SchemaKind,
    SeverityArg, TableFormat,
};
pub(super) use cli::{Cli, Command, ENVIRONMENT};
pub(super) use common::Common;
pub(super) use diff::{ChangeFormat, DiffArgs, DiffFailOnArg};
pub(super) use environments::EnvironmentArgs;
pub(super) use explain::ExplainArgs;
pub(super) use lsp::{LspArgs, OptionName};
pub(super) use mcp::McpArgs;
pub(super) use predict::PredictArgs;
pub(super) use rewrite::RewriteArgs;
pub(super) use rule::{RuleArgs, SchemaArgs};
