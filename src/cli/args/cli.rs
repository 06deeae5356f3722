//! The commands of the program.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use super::check::CheckArgs;
use super::diff::DiffArgs;
use super::explain::ExplainArgs;
use super::lsp::LspArgs;
use super::mcp::McpArgs;
use super::predict::PredictArgs;
use super::rewrite::RewriteArgs;
use super::rule::{RuleArgs, SchemaArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Examples:
  meshprobe check clusters                     # check the probes of a tree
  meshprobe check --context . apps/web.yaml    # check one file with the facts of the tree
  meshprobe predict --explain apps/web.yaml    # show the facts behind each prediction
  meshprobe rewrite --diff apps                # preview the rewrite; --write applies it
  meshprobe rule tcp-probe-always-passes       # explain a rule
  meshprobe explain 'connection reset by peer' # explain the text of an event

Exit codes:
  0  no finding at or above --fail-on; all requested changes were made
  1  a finding at or above --fail-on; a change shown by --diff; a refused rewrite
  2  wrong usage or settings, a path that cannot be read, a failed write";

/// The environment variables, each with its effect. The manual page shows them in a section of its own.
pub(in crate::cli) const ENVIRONMENT: [(&str, &str); 10] = [
    (
        "NO_COLOR",
        "Switches colours off, if it is not empty. --color takes precedence.",
    ),
    (
        "FORCE_COLOR, CLICOLOR_FORCE",
        "Switch colours on, also without a terminal; CLICOLOR_FORCE=0 does not. NO_COLOR takes precedence.",
    ),
    (
        "CLICOLOR",
        "0 switches colours off. The variables above take precedence.",
    ),
    (
        "TERM",
        "dumb switches colours, Unicode and progress messages off.",
    ),
    (
        "COLUMNS",
        "The width of the lines, at least 40; by default that of the terminal.",
    ),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "Unicode characters are only used in a UTF-8 locale.",
    ),
    (
        "GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION",
        "A CI job: commands in its log are escaped.",
    ),
    (
        "HOME",
        "The home directory: if it is a repository, it is not read for facts.",
    ),
    (
        "PATH",
        "The folders that contain git, helm, kustomize and kubectl.",
    ),
    (
        "MESHPROBE_COMPLETE, _CLAP_COMPLETE_INDEX, _CLAP_IFS",
        "The shell that requests completions, and the word. Only the scripts of completions set them.",
    ),
];

/// Returns the text below the options of `--help`.
fn long_help() -> String {
    let lines = ENVIRONMENT.map(|(names, effect)| format!("  {names}\n          {effect}\n"));
    format!(
        "{EXIT_CODES}\n\nEnvironment:\n{}",
        lines.concat().trim_end()
    )
}

const CHECK_CODES: &str = "\
Examples:
  meshprobe check --mesh-version 1.28 --assume mtls=STRICT clusters
  meshprobe check --diff clusters    # preview the changes of --fix
  meshprobe check --report sarif=meshprobe.sarif --report junit=meshprobe.xml clusters
  kustomize build overlays/prod | meshprobe check --require-rewritten -

Exit codes:
  0  no finding at or above --fail-on
  1  a finding at or above --fail-on; a change shown by --diff; verdicts that --require-workloads or --fail-on require
  2  wrong usage or settings, a path that cannot be read, a failed rendering, a failed write";

const REWRITE_CODES: &str = "\
Examples:
  meshprobe rewrite --diff clusters              # preview the changes
  meshprobe rewrite --write clusters             # apply them
  meshprobe rewrite --undo --write clusters      # undo them
  kustomize build overlays/prod | meshprobe rewrite - | kubectl apply -f -
  meshprobe rewrite --vm -o out workloadgroup.yaml    # mesh.yaml of a virtual machine

Exit codes:
  0  all requested changes were made
  1  a refused rewrite; a document that is not valid YAML; a change shown by --diff
  2  wrong usage or settings, a path that cannot be read, a failed write";

const PREDICT_CODES: &str = "\
Examples:
  meshprobe predict clusters
  meshprobe predict --explain --context clusters clusters/prod/web.yaml

Exit codes:
  0  all files were read
  1  a Kubernetes document that is not valid YAML
  2  wrong usage or settings, a path that cannot be read";

const LSP_CODES: &str = "\
Exit codes:
  0  the editor has ended the server
  1  the editor has closed the connection without ending the server
  2  wrong usage";

const DIFF_CODES: &str = "\
Examples:
  meshprobe diff                                   # the working tree against the default branch
  meshprobe diff --since v1.2 --until v1.3 clusters
  meshprobe diff before/ after/                    # two trees, or two rendered files
  meshprobe diff --to mtls=STRICT clusters         # what breaks if STRICT is switched on
  meshprobe diff --from mesh-version=1.30 --to mesh-version=1.31    # the upgrade check
  meshprobe diff --to dataplane=ambient --select-namespace shop

Exit codes:
  0  nothing that --fail-on names
  1  what --fail-on names; by default a regression, or a new probe with a fault
  2  wrong usage or settings, a path or a revision that cannot be read";

const EXPLAIN_CODES: &str = "\
Examples:
  meshprobe explain 'Readiness probe failed: HTTP probe failed with statuscode: 503'
  kubectl describe pod web-0 | meshprobe explain -
  kubectl describe pod web-0 | meshprobe explain - clusters    # also name the probes with this text
  meshprobe explain connection-reset                           # show the page of a symptom

Exit codes:
  0  the text is known
  1  the text is not known; a Kubernetes document that is not valid YAML
  2  wrong usage or settings, a path that cannot be read";

const MCP_CODES: &str = "\
Examples:
  claude mcp add meshprobe -- meshprobe mcp
  meshprobe mcp --root ~/clusters

Exit codes:
  0  the client closed the connection
  2  wrong usage, a root that cannot be read, a message before the protocol was initialized";

/// Predicts what a service mesh will do to each Kubernetes health probe, from manifests alone.
///
/// `check` reports probes that will fail or can never fail. `rewrite` applies the rewrite of the
/// mesh to the manifests, ahead of deployment. `predict` shows the outcome of every probe.
/// meshprobe sends nothing over the network.
#[derive(Debug, Parser)]
#[command(name = "meshprobe", version, disable_version_flag = true, styles = STYLES, after_help = EXIT_CODES, after_long_help = long_help())]
pub(in crate::cli) struct Cli {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<Command>,

    /// Print the version; with --verbose also the newest release of each mesh that was compared with meshprobe.
    #[arg(short = 'V', long)]
    pub(in crate::cli) version: bool,

    #[arg(short, long, hide = true, requires = "version")]
    pub(in crate::cli) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Report probes that the mesh breaks, with the lines that cause it.
    ///
    /// Facts about the mesh are read from the same manifests. If a fact is missing, meshprobe
    /// assumes a value and reports the assumption. Set the fact with --mesh-version or --assume, or
    /// name the files that contain it with --context.
    #[command(after_help = CHECK_CODES)]
    Check(CheckArgs),
    /// Apply the mesh's probe rewrite to the manifests, ahead of deployment.
    ///
    /// Prints the result if the input is standard input or one file. For several files, use --write
    /// or --diff. A rewrite changes the pod template, so deploying it triggers a rollout.
    #[command(after_help = REWRITE_CODES)]
    Rewrite(RewriteArgs),
    /// Show how the mesh changes each probe, which result the kubelet gets, and why.
    #[command(after_help = PREDICT_CODES)]
    Predict(PredictArgs),
    /// Show what changes for each probe between two revisions, two trees, or two assumptions.
    ///
    /// Compares predictions, not lines: renaming a file changes nothing, and findings of both states are not shown. Each
    /// change names the line that causes it.
    #[command(after_help = DIFF_CODES)]
    Diff(DiffArgs),
    /// Run as a language server for editors, over standard input and output.
    ///
    /// Shows the findings of check while manifests are edited, with their fixes. The options apply to all folders of the
    /// workspace; the settings of the editor take precedence. docs/editors.md describes them.
    #[command(after_help = LSP_CODES)]
    Lsp(LspArgs),
    /// Run as a KRM function for kustomize and kpt, with a ResourceList on standard input.
    ///
    /// meshprobe also runs as a KRM function if its file name is meshprobe-krm, or if it has no
    /// arguments and standard input is a pipe. With CONFIG, it reads and writes plain YAML documents
    /// instead of a ResourceList, as legacy exec plugins of kustomize do.
    Krm {
        /// The configuration file that kustomize passes to a legacy exec plugin.
        #[arg(value_name = "CONFIG")]
        config: Option<PathBuf>,
    },
    /// Explain the text of a failing probe or a failing pod: the causes, how to confirm them, and the fix.
    ///
    /// Finds the page for a pasted event. If paths are given, also lists the probes of these manifests for which the text
    /// is predicted.
    #[command(after_help = EXPLAIN_CODES)]
    Explain(ExplainArgs),
    /// Run as a Model Context Protocol server, for assistants: standard input and output carry its messages.
    ///
    /// Assistants can check, predict and compare manifests, and get proposed fixes as diffs. The server reads files
    /// below the roots that the client grants, writes nothing, runs no programs but git, and does not use the network.
    #[command(after_help = MCP_CODES)]
    Mcp(McpArgs),
    /// List the rules of check and the guards of rewrite, or explain one.
    Rule(RuleArgs),
    /// Print the JSON schema of the configuration, or the definition of the KRM function.
    Schema(SchemaArgs),
    /// Print a completion script for a shell.
    ///
    /// The script calls meshprobe, which also completes rules, facts, and the names of overlays and clusters in the
    /// given files. For bash: meshprobe completions bash > /etc/bash_completion.d/meshprobe
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page; `meshprobe man | man -l -` displays it.
    Man {
        /// The command whose page is printed; without it, the page of the program and those of all commands.
        command: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_of_the_options_are_consistent() {
        Cli::command().debug_assert();
    }
}
