//! The commands of the program.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use super::check::CheckArgs;
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

Exit codes:
  0  no findings; all requested changes were made
  1  findings; a change shown by --diff; a refused rewrite
  2  wrong usage or settings, a path that cannot be read, a failed write";

const CHECK_CODES: &str = "\
Examples:
  meshprobe check --mesh-version 1.28 --assume mtls=STRICT clusters
  meshprobe check --diff clusters    # preview the changes of --fix
  meshprobe check --report sarif=meshprobe.sarif --report junit=meshprobe.xml clusters
  kustomize build overlays/prod | meshprobe check --require-rewritten -

Exit codes:
  0  no finding at or above --fail-on
  1  a finding at or above --fail-on; a change shown by --diff
  2  wrong usage or settings, a path that cannot be read, a failed write";

const REWRITE_CODES: &str = "\
Examples:
  meshprobe rewrite --diff clusters              # preview the changes
  meshprobe rewrite --write clusters             # apply them
  meshprobe rewrite --undo --write clusters      # undo them
  kustomize build overlays/prod | meshprobe rewrite - | kubectl apply -f -
  meshprobe rewrite --vm -o out workloadgroup.yaml    # mesh.yaml of a virtual machine

Exit codes:
  0  every probe that the mesh would rewrite is rewritten
  1  a refused workload; a document that is not YAML; a change shown by --diff
  2  wrong usage or settings, a path that cannot be read, a failed write";

const PREDICT_CODES: &str = "\
Examples:
  meshprobe predict clusters
  meshprobe predict --explain --context clusters clusters/prod/web.yaml

Exit codes:
  0  all files were read
  1  a Kubernetes document that is not YAML
  2  wrong usage or settings, a path that cannot be read";

/// Predicts what a service mesh will do to each Kubernetes health probe, from manifests alone.
///
/// `check` reports probes that will fail or can never fail. `rewrite` applies the rewrite of the
/// mesh to the manifests, ahead of deployment. `predict` shows a table of all probes. meshprobe
/// sends nothing over the network.
#[derive(Debug, Parser)]
#[command(name = "meshprobe", version, styles = STYLES, after_help = EXIT_CODES)]
pub(in crate::cli) struct Cli {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Report probes that the mesh breaks, and the lines that decide.
    ///
    /// Facts about the mesh are read from the same manifests. Missing facts are assumed, and the
    /// assumptions are reported; --mesh-version, --assume and --context replace them.
    #[command(after_help = CHECK_CODES)]
    Check(CheckArgs),
    /// Apply the mesh's probe rewrite to the manifests, ahead of deployment.
    ///
    /// Prints the rewritten manifests of standard input or of one file; several files need
    /// --write, -o or --diff. A rewrite changes the pod template, which triggers a rollout.
    #[command(after_help = REWRITE_CODES)]
    Rewrite(RewriteArgs),
    /// Show how the mesh changes each probe, which result the kubelet gets, and why.
    #[command(after_help = PREDICT_CODES)]
    Predict(PredictArgs),
    /// Run as a KRM function for kustomize and kpt, with a ResourceList on standard input.
    ///
    /// meshprobe also runs as a KRM function when it is called as meshprobe-krm, or without
    /// arguments and with a pipe as standard input. With a configuration file, standard input and
    /// output are plain streams of documents: kustomize calls its older exec plugins in this way.
    Krm {
        /// The configuration file of a legacy plugin.
        #[arg(value_name = "CONFIG")]
        config: Option<PathBuf>,
    },
    /// List the rules of check and the guards of rewrite, or explain one.
    Rule(RuleArgs),
    /// Print the JSON schema of the configuration, or the definition of the KRM function.
    Schema(SchemaArgs),
    /// Print the completion script of a shell.
    ///
    /// For bash: meshprobe completions bash > /etc/bash_completion.d/meshprobe
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page; `meshprobe man | man -l -` displays it.
    Man,
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
