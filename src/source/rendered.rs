//! What a renderer has made of a folder or chart, run by the caller: nothing is run here.

use std::path::PathBuf;
use std::sync::Arc;

/// The output of one run of a renderer.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The path to show for the output.
    pub name: Arc<str>,
    /// The file that a failure is told about, as shown to the user.
    pub asked: Arc<str>,
    /// The manifests; else the message of the renderer.
    pub outcome: Result<Arc<[u8]>, String>,
    /// What leads from its objects to files.
    pub trail: Trail,
}

/// What leads from rendered objects to the files that a person edits.
#[derive(Clone, Debug)]
pub enum Trail {
    /// The same build by kustomize once more, with `buildMetadata: [originAnnotations]`.
    Annotations {
        /// The output of that build; `None` where it failed.
        output: Option<Arc<[u8]>>,
        /// The folder that the paths in it are relative to.
        folder: PathBuf,
        /// The folder that was built.
        built: PathBuf,
    },
    /// The folder of the chart; `# Source:` comments name files below it.
    Chart(PathBuf),
}
