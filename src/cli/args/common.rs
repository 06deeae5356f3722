//! The options that `check`, `rewrite` and `predict` share.

use std::path::PathBuf;

use clap::Args;
use meshprobe_mesh::settings::{FactOverrides, Version};

use super::choice::{ColorArg, MeshArg};

#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Common {
    /// Files and directories to read; `-` is standard input [default: .].
    #[arg(value_name = "PATH")]
    pub(in crate::cli) paths: Vec<PathBuf>,

    /// The service mesh [default: auto].
    #[arg(long, value_enum, help_heading = "Mesh")]
    pub(in crate::cli) mesh: Option<MeshArg>,

    /// The release of the mesh, such as 1.28 [default: from the manifests, else the latest].
    #[arg(long, value_name = "VERSION", help_heading = "Mesh")]
    pub(in crate::cli) mesh_version: Option<Version>,

    /// Set a fact that the manifests do not contain, such as mtls=STRICT (repeatable).
    ///
    /// Keys: ambient, cni, cni-enforces-node-traffic, native-sidecars and rewrite (true, false),
    /// dataplane (ambient, sidecar, none: move the namespaces of the mesh), injection (evidence, all, none),
    /// mtls (DISABLE, PERMISSIVE, STRICT), network-plugin (such as cilium, calico, ovn-kubernetes,
    /// aws-vpc-cni, other), node-version (a Kubernetes release), revision, root-namespace, status-port.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Mesh")]
    pub(in crate::cli) assume: Vec<FactOverrides>,

    /// Set a fact, even if the manifests contain another value (repeatable); keys as for --assume.
    #[arg(long = "override", value_name = "KEY=VALUE", help_heading = "Mesh")]
    pub(in crate::cli) overrides: Vec<FactOverrides>,

    /// The namespace of objects that do not set one.
    #[arg(short, long, help_heading = "Mesh")]
    pub(in crate::cli) namespace: Option<String>,

    /// Also read these manifests for facts, but do not report findings in them (repeatable).
    ///
    /// The other files of the repository are read for facts anyway, see --no-context.
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(in crate::cli) context: Vec<PathBuf>,

    /// Do not read the other files of the repository for facts.
    ///
    /// By default, facts come from the whole tree: the nearest folder above a path that contains .git, or a
    /// .meshprobe.yaml with `root: true`; otherwise the folder of the configuration file. Standard input
    /// and --kustomize have no such context, because a build repeats the objects of the repository.
    #[arg(long, help_heading = "Input")]
    pub(in crate::cli) no_context: bool,

    /// Whether empty standard input is an error; set by commands that compare it.
    #[arg(skip)]
    pub(in crate::cli) rejects_empty_stdin: bool,

    /// Exclude matching files, with the syntax of .gitignore (repeatable).
    #[arg(long, value_name = "GLOB", help_heading = "Input")]
    pub(in crate::cli) exclude: Vec<String>,

    /// Also apply --exclude to paths that are given on the command line.
    #[arg(long, help_heading = "Input")]
    pub(in crate::cli) force_exclude: bool,

    /// Also read files that are excluded by ignore files, such as .gitignore.
    #[arg(long, help_heading = "Input")]
    pub(in crate::cli) no_ignore: bool,

    /// Render this folder with the `kustomize` (or `kubectl`) on the PATH and read the result
    /// (repeatable).
    ///
    /// Findings name the source files of the build. If no path argument is given, no other files
    /// are read. If the build fails, check and predict read the files of the folder instead.
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub(in crate::cli) kustomize: Vec<PathBuf>,

    /// Render this chart, or with `auto` the charts of the tree, with the `helm` on the PATH and read the result
    /// (repeatable).
    ///
    /// Findings name the templates. --namespace, --values and --set are passed to helm. `auto` renders the local charts
    /// of HelmReleases and Argo CD Applications with the values in the tree, and charts that nothing deploys with their
    /// defaults; `./auto` is a chart. Only render charts that you trust.
    #[arg(long, value_name = "CHART", help_heading = "Input")]
    pub(in crate::cli) helm: Vec<PathBuf>,

    /// A file with values for the chart of --helm (repeatable).
    #[arg(long, value_name = "FILE", requires = "helm", help_heading = "Input")]
    pub(in crate::cli) values: Vec<PathBuf>,

    /// Set a value for the chart of --helm (repeatable); as in helm, several are separated by commas.
    #[arg(
        long,
        value_name = "KEY=VALUE",
        requires = "helm",
        help_heading = "Input"
    )]
    pub(in crate::cli) set: Vec<String>,

    /// The path to use for standard input, in reports and to find the facts that apply.
    #[arg(long, value_name = "PATH", help_heading = "Input")]
    pub(in crate::cli) stdin_filename: Option<String>,

    /// The configuration file [default: the nearest .meshprobe.yaml or .yml in this or a parent directory].
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(in crate::cli) config: Option<PathBuf>,

    /// Ignore all configuration files, also if they declare a tree with `root: true`.
    #[arg(long, conflicts_with = "config", help_heading = "Settings")]
    pub(in crate::cli) isolated: bool,

    /// The number of threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Settings")]
    pub(in crate::cli) threads: Option<u16>,

    /// When to use colours.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(in crate::cli) color: ColorArg,

    /// Print only the results, without the summary of check and the notes of rewrite and predict.
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(in crate::cli) quiet: bool,

    /// Also print the files that are read, the kind of each file, and the elapsed time.
    #[arg(short, long, help_heading = "Output")]
    pub(in crate::cli) verbose: bool,
}

/// The value of `--helm` that renders the charts of the tree.
const AUTO: &str = "auto";

impl Common {
    /// Returns whether `--kustomize` or `--helm` names a folder or a chart.
    pub(in crate::cli) fn renders(&self) -> bool {
        !self.kustomize.is_empty() || self.charts().next().is_some()
    }

    /// Returns whether `--helm auto` is given.
    pub(in crate::cli) fn renders_charts_of_tree(&self) -> bool {
        self.helm.iter().any(|chart| chart.as_os_str() == AUTO)
    }

    /// Iterates over the charts that `--helm` names.
    pub(in crate::cli) fn charts(&self) -> impl Iterator<Item = &PathBuf> {
        self.helm.iter().filter(|chart| chart.as_os_str() != AUTO)
    }
}
