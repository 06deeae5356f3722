//! Output of a renderer for a folder or a chart. The caller runs the renderer.

use std::path::PathBuf;
use std::sync::Arc;

use meshprobe_yaml::Span;

use crate::source::model::cluster::Cluster;

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
