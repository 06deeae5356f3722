//! The options of the server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use meshprobe_tree::filesystem::canonical;

use super::roots::Root;

/// The options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The working directory, an absolute path.
    pub directory: PathBuf,
    /// The folders of the command line that may be read.
    pub roots: Vec<Root>,
    /// The home directory, which is never a root by default.
    pub home: Option<PathBuf>,
    /// The time limit of a call.
    pub time_limit: Duration,
}

impl Options {
    /// Returns whether a resolved path is the home directory, or contains it.
    pub(super) fn is_home(&self, real: &Path) -> bool {
        let home = self
            .home
            .as_deref()
            .map(|home| canonical(home).unwrap_or_else(|_| home.to_path_buf()));
        home.is_some_and(|home| home.starts_with(real))
    }
}
