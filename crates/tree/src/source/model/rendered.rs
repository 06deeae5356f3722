//! Output of a renderer for a folder or a chart. The caller runs the renderer.
//!
//! The cluster to which Flux or Argo CD deploys a manifest.
//!
//! The folders that printed commands read for facts.

use std::path::PathBuf;
use std::sync::Arc;

use meshprobe_yaml::Span;

use crate::source::shell_word;

/// Output of one run of a renderer.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The path to show for the output.
    pub name: Arc<str>,
    /// The file for which a failure is reported, as shown to the user.
    pub asked: Arc<str>,
    /// The manifests, or the message of the failed renderer.
    pub outcome: Result<Arc<[u8]>, String>,
    /// The data that leads from its objects to files.
    pub trail: Trail,
    /// The chart that was rendered; `None` for another renderer.
    pub chart: Option<Arc<RenderedChart>>,
}

/// Chart that was rendered, with the objects that deploy this output of it.
#[derive(Clone, Debug)]
pub struct RenderedChart {
    /// Its folder, as shown to the user.
    pub folder: Arc<str>,
    /// The objects that deploy it; empty for a chart that the user named, or that nothing deploys.
    pub releases: Vec<ChartDeployment>,
}

impl RenderedChart {
    /// Returns whether findings about all, and about any, of its objects are reported.
    #[must_use]
    pub fn targets(&self) -> (bool, bool) {
        let is_target = |release: &ChartDeployment| release.is_target;
        let is_any = self.releases.is_empty() || self.releases.iter().any(is_target);
        (self.releases.iter().all(is_target), is_any)
    }
}

/// Object that deploys a chart, such as a `HelmRelease`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartDeployment {
    /// The file that determines which other objects are near.
    pub location_file: Arc<str>,
    /// Whether the object belongs to one overlay or cluster of several.
    pub is_of_overlay: bool,
    /// The namespace of rendered objects without a namespace.
    pub namespace: Option<Arc<str>>,
    /// The cluster of the rendered objects, if it is known.
    pub cluster: Option<Arc<Cluster>>,
    /// The file of the object.
    pub path: Arc<str>,
    /// The bytes of its name.
    pub span: Span,
    /// The file and the bytes that name the chart.
    pub chart: (Arc<str>, Span),
    /// Whether findings about it are reported.
    pub is_target: bool,
}

/// Data that leads from rendered objects to the files that users edit.
#[derive(Clone, Debug)]
pub enum Trail {
    /// A second build by kustomize, with `buildMetadata: [originAnnotations]`.
    Annotations {
        /// The output of that build; `None` if it failed.
        output: Option<Arc<[u8]>>,
        /// The folder to which the paths in it are relative.
        folder: PathBuf,
        /// The folder that was built.
        built: PathBuf,
    },
    /// The folder of the chart; `# Source:` comments name files below it.
    Chart(PathBuf),
}

/// The URL that Argo CD uses for its own cluster.
/// Source: Argo CD, `pkg/apis/application/v1alpha1/types.go` (`KubernetesInternalAPIServerAddr`).
pub const ARGO_SERVER: &str = "https://kubernetes.default.svc";

/// The cluster to which an object of Flux or Argo CD deploys, as far as the object identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cluster {
    /// `spec.destination` of an Application, which contains the URL or the name of a cluster.
    Argo {
        /// The URL of the API server, without `/` at its end.
        server: Option<String>,
        /// The name.
        name: Option<String>,
    },
    /// `spec.kubeConfig` of an object of Flux.
    Flux {
        /// The Secret or ConfigMap with the connection; `None` for the cluster of Flux itself.
        config: Option<String>,
    },
    /// That of Argo CD or Flux in which a file is applied, next to files for other clusters.
    Root(Arc<str>),
}

impl Cluster {
    /// Returns whether it is the cluster in which Flux or Argo CD runs.
    #[must_use]
    pub fn is_own(&self) -> bool {
        match self {
            Self::Argo { server, .. } => server.as_deref() == Some(ARGO_SERVER),
            Self::Flux { config } => config.is_none(),
            Self::Root(_) => true,
        }
    }

    /// Returns whether both are known to be different clusters. A URL and a name may identify the same cluster.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| {
            one.is_some() && other.is_some() && one != other
        };
        match (self, other) {
            (
                Self::Argo { server, name },
                Self::Argo {
                    server: other_server,
                    name: other_name,
                },
            ) => differ(server, other_server) || differ(name, other_name),
            (Self::Flux { config }, Self::Flux { config: other }) => config != other,
            (Self::Root(file), Self::Root(other)) => file != other,
            (Self::Root(_), other) | (other, Self::Root(_)) => !other.is_own(),
            _ => false,
        }
    }
}

/// The commands that messages recommend, with the working directory as the root of the tree.
const COMMANDS: [&str; 3] = [
    "meshprobe check --context . ",
    "meshprobe rewrite --context . ",
    "meshprobe rewrite --undo --context . ",
];

/// The option `--context` of printed commands: it names the roots of the trees that the run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextOption(String);

impl Default for ContextOption {
    /// Returns the option for a run in the root of its tree.
    fn default() -> Self {
        Self("--context .".to_owned())
    }
}

impl ContextOption {
    /// Creates the option for folders, which are relative to the working directory. Without folders, it names the
    /// working directory.
    #[must_use]
    pub fn of(folders: impl Iterator<Item = String>) -> Self {
        let options = folders.map(|folder| format!("--context {}", shell_word(&folder)));
        let options: Vec<String> = options.collect();
        if options.is_empty() {
            return Self::default();
        }
        Self(options.join(" "))
    }

    /// Replaces the option in the commands of a text.
    pub fn apply_to(&self, text: &mut String) {
        if *self == Self::default() || !text.contains("--context . ") {
            return;
        }
        for command in COMMANDS {
            let replaced = command.replace("--context .", &self.0);
            *text = text.replace(command, &replaced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_not_a_remote_cluster() {
        let root = Cluster::Root("bootstrap/eu1.yaml".into());
        let argo = |server: Option<&str>, name: Option<&str>| Cluster::Argo {
            server: server.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        let flux = |config: Option<&str>| Cluster::Flux {
            config: config.map(str::to_owned),
        };
        for (other, differs) in [
            (argo(Some("https://remote"), None), true),
            (argo(Some(ARGO_SERVER), None), false),
            (argo(None, Some("remote")), true),
            (flux(Some("remote")), true),
            (flux(None), false),
            (Cluster::Root("bootstrap/us1.yaml".into()), true),
        ] {
            assert_eq!(root.differs_from(&other), differs, "{other:?}");
            assert_eq!(other.differs_from(&root), differs, "{other:?}");
        }
    }

    #[test]
    fn only_recommended_commands_are_changed() {
        let option = ContextOption::of(["..".to_owned(), "../a b".to_owned()].into_iter());
        let mut text = "`x --context . | meshprobe rewrite --undo --context . -`".to_owned();
        option.apply_to(&mut text);
        let command = "meshprobe rewrite --undo --context .. --context '../a b' -";
        assert_eq!(text, format!("`x --context . | {command}`"));
    }
}
