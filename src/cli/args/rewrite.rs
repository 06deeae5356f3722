//! The options of `meshprobe rewrite`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use meshprobe_mesh::finding::GuardId;
use meshprobe_rules::rewrite::ALLOWABLE;

use super::choice::FormArg;
use super::common::Common;

#[derive(Debug, Args)]
pub(in crate::cli) struct RewriteArgs {
    /// Where the rewritten manifests contain the original probes [default: auto].
    #[arg(long, value_name = "FORM", value_enum, help_heading = "Rewrite")]
    pub(in crate::cli) form: Option<FormArg>,

    /// Rewrite the files in place.
    #[arg(long, help_heading = "Rewrite")]
    pub(in crate::cli) write: bool,

    /// Show the changes as a diff, without writing files; exit with code 1 if there are any.
    #[arg(long, help_heading = "Rewrite", conflicts_with = "write")]
    pub(in crate::cli) diff: bool,

    /// Undo the rewrite: restore the original probes from the prober env (ISTIO_KUBE_APP_PROBERS).
    ///
    /// Works for rewrites by meshprobe, in any form, and by the injector. The prober env contains
    /// ports as numbers, and default values; --undo writes these, even if the original had no
    /// value. A number gets the name of the only port that the container declares with it.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["form", "allow"])]
    pub(in crate::cli) undo: bool,

    /// Write mesh.yaml for the virtual machines of a WorkloadGroup, instead of manifests.
    ///
    /// The readinessProbe equals the output of `istioctl x workload entry configure`, which needs a
    /// cluster: spec.probe as written, without defaults. If the files include the ConfigMap `istio`
    /// of the control plane, the whole file equals that of istioctl with default flags. A probe
    /// that istiod would reject is not written. One WorkloadGroup is written to standard output or,
    /// with -o DIR, to DIR/mesh.yaml; several are written to DIR/NAMESPACE/NAME/mesh.yaml.
    #[arg(long, help_heading = "Virtual machines", conflicts_with_all = ["write", "diff", "undo", "form"])]
    pub(in crate::cli) vm: bool,

    /// Write the files of --vm to this folder.
    ///
    /// Files of the folder are not read.
    #[arg(short, long, value_name = "DIR", help_heading = "Virtual machines", conflicts_with_all = ["write", "diff"])]
    pub(in crate::cli) output: Option<PathBuf>,

    /// Show pods as the webhook of a mesh other than Istio would change them.
    ///
    /// Do not deploy the output: a rewrite in the manifest conflicts with the webhooks of these meshes.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["write", "undo", "vm"])]
    pub(in crate::cli) preview: bool,

    /// Print the static Envoy listeners and clusters that OSM configures for probes.
    #[arg(long, help_heading = "Rewrite", conflicts_with_all = ["write", "diff", "output", "undo", "preview", "vm"])]
    pub(in crate::cli) emit_envoy: bool,

    /// Rewrite pods even if this guard refuses them (repeatable).
    #[arg(long, value_name = "GUARD", value_parser = allowable(), help_heading = "Rewrite")]
    pub(in crate::cli) allow: Vec<GuardId>,

    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

/// Returns the parser of a guard that `--allow` can disable.
fn allowable() -> impl TypedValueParser<Value = GuardId> {
    PossibleValuesParser::new(ALLOWABLE.map(GuardId::as_str))
        .try_map(|id| GuardId::named(&id).ok_or_else(|| format!("unknown guard `{id}`")))
}
