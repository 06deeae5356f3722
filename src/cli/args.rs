//! What the user can type. The comments are the help.

mod choice;
mod size;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};

use crate::rewrite::ALLOWABLE;

use choice::report;
pub(super) use choice::{
    ColorArg, FailOnArg, FormArg, MeshArg, OutputFormat, ReportArg, RuleFormat, SchemaKind,
    SeverityArg, TableFormat,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Examples:
  meshprobe check clusters                     # report the probes of a tree
  meshprobe check --context . apps/web.yaml    # judge one file by the facts of all
  meshprobe predict --explain apps/web.yaml    # say why
  meshprobe rewrite --diff apps                # show the rewrite; --write makes it
  meshprobe rule tcp-probe-always-passes       # explain a rule

Exit codes:
  0  nothing to report; everything was done
  1  findings; a change shown by --diff; a refused rewrite
  2  wrong usage or settings, a path that cannot be read, a failed write";

const CHECK_CODES: &str = "\
Examples:
  meshprobe check --mesh-version 1.28 --assume mtls=STRICT clusters
  meshprobe check --diff clusters    # what --fix would change
  meshprobe check --report sarif=meshprobe.sarif --report junit=meshprobe.xml clusters
  kustomize build overlays/prod | meshprobe check --require-rewritten -

Exit codes:
  0  no finding at or above --fail-on
  1  such a finding; a change shown by --diff
  2  wrong usage or settings, a path that cannot be read, a failed write";

const REWRITE_CODES: &str = "\
Examples:
  meshprobe rewrite --diff clusters              # show the change
  meshprobe rewrite --write clusters             # make it
  meshprobe rewrite --undo --write clusters      # take it back
  kustomize build overlays/prod | meshprobe rewrite - | kubectl apply -f -
  meshprobe rewrite --vm -o out workloadgroup.yaml    # mesh.yaml of a virtual machine

Exit codes:
  0  everything that the mesh would rewrite is rewritten
  1  a refused workload, a document that is not YAML; a change shown by --diff
  2  wrong usage or settings, a path that cannot be read, a failed write";

const PREDICT_CODES: &str = "\
Examples:
  meshprobe predict clusters
  meshprobe predict --explain --context clusters clusters/prod/web.yaml

Exit codes:
  0  everything could be read
  1  a Kubernetes document that is not YAML
  2  wrong usage or settings, a path that cannot be read";

/// Predicts what a service mesh will do to each Kubernetes health probe, from manifests alone.
///
/// `check` reports probes that will fail or can never fail, `rewrite` writes down ahead of
/// deployment what the mesh would do to them at admission, `predict` shows both as a table.
/// Nothing is ever sent over the network.
#[derive(Debug, Parser)]
#[command(name = "meshprobe", version, styles = STYLES, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Report probes that the mesh breaks, and the lines that decide.
    ///
    /// Facts of the mesh are looked for in the same manifests; what is missing is assumed, said,
    /// and can be settled with --mesh-version, --assume and --context.
    #[command(after_help = CHECK_CODES)]
    Check(CheckArgs),
    /// Write the mesh's probe rewrite into the manifests, ahead of deployment.
    ///
    /// Prints the rewritten manifests of standard input or of one file; several files need
    /// --write, -o or --diff. A rewrite changes the pod template, and so rolls the workload.
    #[command(after_help = REWRITE_CODES)]
    Rewrite(RewriteArgs),
    /// Show what the mesh does to each probe, what the kubelet meets, and why.
    #[command(after_help = PREDICT_CODES)]
    Predict(PredictArgs),
    /// Run as KRM function: a ResourceList on standard input, for kustomize and kpt.
    ///
    /// The same happens when the program is called as meshprobe-krm, or without arguments and
    /// with a pipe as standard input. With a configuration file, standard input is a plain stream
    /// of documents and so is the answer: this is how kustomize calls its older exec plugins.
    Krm {
        /// The configuration of a legacy plugin.
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
    /// Print the manual page (to read it: meshprobe man | man -l -).
    Man,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The format of the report.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(super) output_format: OutputFormat,

    /// Write a report to a file as well (repeatable); formats as for --output-format.
    ///
    /// A summary is appended to what the file holds; all others replace it.
    #[arg(long = "report", value_name = "FORMAT=FILE", value_parser = report, help_heading = "Report")]
    pub(super) reports: Vec<ReportArg>,

    /// Where paths in reports for machines start, such as the root of the repository [default:
    /// the working directory].
    ///
    /// Holds for sarif, github, gitlab, junit and summary.
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    pub(super) report_root: Option<PathBuf>,

    /// Exit with 1 on findings of this severity and above [default: warning].
    #[arg(long, value_name = "SEVERITY", value_enum, help_heading = "Report")]
    pub(super) fail_on: Option<FailOnArg>,

    /// Show findings of this severity and above only; others do not count.
    #[arg(long, value_name = "SEVERITY", value_enum, help_heading = "Report")]
    pub(super) min_severity: Option<SeverityArg>,

    /// Count findings per rule instead of showing them.
    #[arg(long, help_heading = "Report")]
    pub(super) statistics: bool,

    /// Run these rules only; what cannot be read is told all the same (repeatable).
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(super) select: Vec<String>,

    /// Leave out these rules (repeatable).
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    pub(super) ignore: Vec<String>,

    /// Write a suppression with this reason above every finding, so that only new ones are told.
    #[arg(long, value_name = "REASON", conflicts_with_all = ["fix", "diff", "statistics"], help_heading = "Rules")]
    pub(super) add_ignore: Option<String>,

    /// Report every probe that the mesh would rewrite and that is not rewritten ahead.
    ///
    /// For the end of a pipeline: kustomize skips functions without a word when a flag is missing.
    #[arg(long, help_heading = "Rules")]
    pub(super) require_rewritten: bool,

    /// Apply safe fixes to the files.
    #[arg(long, group = "fixing", help_heading = "Fixes")]
    pub(super) fix: bool,

    /// With --fix or --diff: apply fixes that change behaviour, too.
    #[arg(long, requires = "fixing", help_heading = "Fixes")]
    pub(super) unsafe_fixes: bool,

    /// Show as a diff what --fix would change; write nothing.
    #[arg(long, group = "fixing", help_heading = "Fixes", conflicts_with_all = ["fix", "output_format", "reports"])]
    pub(super) diff: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct RewriteArgs {
    /// How the original probes are carried.
    #[arg(long, value_name = "FORM", value_enum, help_heading = "Rewrite")]
    pub(super) form: Option<FormArg>,

    /// Write the files in place.
    #[arg(long, help_heading = "Rewrite")]
    pub(super) write: bool,

    /// Show the change as a diff and exit with 1 if there is one; write nothing.
    #[arg(long, help_heading = "Rewrite", conflicts_with = "write")]
    pub(super) diff: bool,

    /// Write a copy of the tree, with the rewritten files in it, into this folder.
    ///
    /// Every file below the given paths is copied, changed or not, manifest or not, but for what
    /// .gitignore and --exclude hide: what refers to another file still finds it. Places are kept
    /// relative to the folder that holds all given paths: of `rewrite k8s -o out`, k8s/a/b.yaml
    /// becomes out/a/b.yaml. Links to files become files; a link to a folder stays one where that
    /// folder is copied too, and becomes a folder else. A file that is there already, and is no
    /// copy of an earlier run (out/.meshprobe-copy lists those), is never overwritten. Standard
    /// input goes to standard output.
    #[arg(short, long, value_name = "DIR", help_heading = "Rewrite", conflicts_with_all = ["write", "diff"])]
    pub(super) output: Option<PathBuf>,

    /// Go back: make probes that were rewritten ahead what they were, as their prober env says.
    ///
    /// Ports and defaults that the env holds as numbers and values are written as such. Works
    /// for what meshprobe wrote, in any form, and for what the injector wrote.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["form", "allow"])]
    pub(super) undo: bool,

    /// Write mesh.yaml for the virtual machines of a WorkloadGroup, not manifests.
    ///
    /// The readinessProbe is that of `istioctl x workload entry configure`, without its cluster:
    /// spec.probe as written, without defaults. With the ConfigMap `istio` of the control plane in
    /// the tree or under --context, the whole file is that of istioctl with default flags. What
    /// istiod would refuse is not written. One WorkloadGroup goes to standard output or, with
    /// -o DIR, to DIR/mesh.yaml; several go to DIR/NAMESPACE/NAME/mesh.yaml.
    #[arg(long, help_heading = "Virtual machines", conflicts_with_all = ["write", "diff", "undo", "form"])]
    pub(super) vm: bool,

    /// Make a WorkloadGroup of each workload whose pods have a readinessProbe.
    ///
    /// For machines that run what pods run today. Port names become numbers, and the kubelet's
    /// defaults are written out, since the agent of a machine has others. Printed as manifests, or
    /// with -o DIR written as workloadgroup.yaml; with --vm, mesh.yaml of these groups is written
    /// instead.
    #[arg(long, help_heading = "Virtual machines", conflicts_with_all = ["write", "diff", "undo", "form"])]
    pub(super) from_deployment: bool,

    /// Show what the webhook of a mesh other than Istio would make of its pods.
    ///
    /// Such meshes keep the originals where no manifest reaches: what is shown must not be
    /// deployed.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["write", "undo", "vm", "from_deployment"])]
    pub(super) preview: bool,

    /// Print the static listeners and clusters that OSM gives the proxies for their probes.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["write", "diff", "output", "undo", "preview", "vm", "from_deployment"])]
    pub(super) emit_envoy: bool,

    /// Pass a guard that is a matter of judgement (repeatable).
    #[arg(long, value_name = "GUARD", value_parser = PossibleValuesParser::new(ALLOWABLE), help_heading = "Rewrite")]
    pub(super) allow: Vec<String>,

    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct PredictArgs {
    /// The format of the output.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Report"
    )]
    pub(super) output_format: TableFormat,

    /// Say every fact behind each verdict: its value, how sure it is, where it comes from.
    #[arg(long, conflicts_with = "output_format", help_heading = "Report")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct RuleArgs {
    /// The id of the rule or guard; without it, all ids are listed.
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(super) id: Option<String>,

    /// Explain all rules.
    #[arg(long)]
    pub(super) all: bool,

    /// The format of the output; JSON always lists all.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        conflicts_with = "id"
    )]
    pub(super) output_format: RuleFormat,
}

#[derive(Debug, Args)]
pub(super) struct Common {
    /// Files and directories; `-` is standard input [default: .].
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,

    /// The mesh to judge by [default: auto].
    #[arg(long, value_enum, help_heading = "Mesh")]
    pub(super) mesh: Option<MeshArg>,

    /// The release of the mesh, such as 1.28.
    #[arg(long, value_name = "VERSION", help_heading = "Mesh")]
    pub(super) mesh_version: Option<String>,

    /// A fact that the manifests do not hold, such as mtls=STRICT (repeatable).
    ///
    /// Keys: ambient, cni, cni-enforces-node-traffic, injection (evidence, all, none), mtls
    /// (DISABLE, PERMISSIVE, STRICT), native-sidecars, node-version, revision, rewrite,
    /// root-namespace, status-port.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Mesh")]
    pub(super) assume: Vec<String>,

    /// A fact that wins over the manifests (repeatable); keys as for --assume.
    #[arg(long = "override", value_name = "KEY=VALUE", help_heading = "Mesh")]
    pub(super) overrides: Vec<String>,

    /// The namespace of objects that name none.
    #[arg(short, long, help_heading = "Mesh")]
    pub(super) namespace: Option<String>,

    /// Manifests to read for facts, but not to report on (repeatable).
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(super) context: Vec<PathBuf>,

    /// Leave out what matches, with the meaning of .gitignore (repeatable).
    #[arg(long, value_name = "GLOB", help_heading = "Input")]
    pub(super) exclude: Vec<String>,

    /// Apply --exclude to paths given on the command line, too.
    #[arg(long, help_heading = "Input")]
    pub(super) force_exclude: bool,

    /// Read what .gitignore hides, too.
    #[arg(long, help_heading = "Input")]
    pub(super) no_ignore: bool,

    /// Render this folder with the `kustomize` (or `kubectl`) on the PATH and read the result
    /// (repeatable).
    ///
    /// Findings name the files of the build. Without a PATH nothing else is read; check and
    /// predict read the folder itself where the build fails.
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(super) kustomize: Vec<PathBuf>,

    /// Render this chart with the `helm` on the PATH and read the result (repeatable).
    ///
    /// Findings name the templates. The namespace of --namespace is passed on.
    #[arg(long, value_name = "CHART", help_heading = "Input")]
    pub(super) helm: Vec<PathBuf>,

    /// A file with values for --helm (repeatable).
    #[arg(long, value_name = "FILE", requires = "helm", help_heading = "Input")]
    pub(super) values: Vec<PathBuf>,

    /// The path to show for standard input.
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(super) stdin_filename: Option<String>,

    /// The configuration file [default: the nearest .meshprobe.yaml upward].
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(super) config: Option<PathBuf>,

    /// Read no configuration file.
    #[arg(long, conflicts_with = "config", help_heading = "Settings")]
    pub(super) isolated: bool,

    /// Memory that rendered overlays may hold, such as 1GiB [default: 192MiB, or 16 times the size of the files].
    ///
    /// Overlays that do not fit are reported as overlay-left-out. Units: KiB, MiB, GiB.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Settings")]
    pub(super) max_rendered: Option<usize>,

    /// Memory that parsed files may hold, such as 1GiB [default: 192MiB, and 16KiB for each file].
    ///
    /// Files that do not fit are reported as file-left-out. Units: KiB, MiB, GiB.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Settings")]
    pub(super) max_parsed: Option<usize>,

    /// How many threads to use [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Settings")]
    pub(super) threads: Option<u16>,

    /// When to use colours.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(super) color: ColorArg,

    /// Print results only: no summary, no notes beside a rewrite or a table.
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(super) quiet: bool,

    /// Say which files were read, what each was taken for, and how long it took.
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
}

impl Common {
    /// Tells whether a renderer is to be run.
    pub(super) const fn renders(&self) -> bool {
        !self.kustomize.is_empty() || !self.helm.is_empty()
    }
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// What to print.
    #[arg(value_name = "OF", value_enum, default_value_t)]
    pub(super) of: SchemaKind,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
