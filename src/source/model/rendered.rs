//! Output of a renderer for a folder or a chart. The caller runs the renderer.

use std::path::PathBuf;
use std::sync::Arc;

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
