//! Input of a run, and parameters that determine which files are read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::filesystem::FileSystem;
use crate::source::discover::walk_options::WalkOptions;
use crate::source::model::rendered::Rendered;
use crate::source::shared_files::SharedFiles;

/// Input of a run.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file or a directory that the user names.
    Path(PathBuf),
    /// A file or a directory that a file of the tree names, by its resolved path.
    Resolved(PathBuf),
    /// Standard input, read by the caller.
    Bytes {
        /// The path to show.
        name: Arc<str>,
        /// The path that the user gives for it, if any.
        disk_path: Option<PathBuf>,
        /// The content.
        bytes: Arc<[u8]>,
    },
    /// Output of a renderer that the caller ran.
    Rendered(Arc<Rendered>),
}

/// Parameters that determine which files are read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Inputs that are checked.
    pub targets: Vec<Input>,
    /// Inputs that are read only for facts.
    pub context: Vec<Input>,
    /// Folders that contain inputs, and whose other files are read only for facts.
    pub roots: Vec<PathBuf>,
    /// Folders that are not read as a part of [`Request::roots`].
    pub omitted: Vec<PathBuf>,
    /// The files to read; by default those on disk.
    pub filesystem: FileSystem,
    /// Parsed files of another state of the tree, which are used instead of reading equal files again.
    pub shared: Option<Arc<SharedFiles>>,
    /// The directory to which relative paths refer.
    pub working_directory: PathBuf,
    /// Options for the walk of directories.
    pub walk: WalkOptions,
}
