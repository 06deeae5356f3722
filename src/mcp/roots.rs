//! The folders whose files the client may read.

use std::path::{Path, PathBuf};

use meshprobe_tree::filesystem::canonical;

use super::file_uri::path_of_uri;

/// A folder whose files may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The path as it was given, absolute.
    pub(super) given: PathBuf,
    /// The path without links.
    pub(super) real: PathBuf,
}

/// The folders whose files may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The folders.
    pub(super) folders: Vec<Root>,
    /// Why a folder that the client grants cannot be used.
    pub(super) problems: Vec<String>,
    /// The working directory of commands that read no files.
    pub(super) directory: PathBuf,
}

impl Root {
    /// Resolves an absolute path.
    ///
    /// # Errors
    /// The path does not lead to a folder.
    pub fn new(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let real = canonical(path).map_err(|error| {
            let reason = meshprobe_tree::source::io_error_reason(&error);
            format!("cannot read the root `{shown}`: {reason}")
        })?;
        if real.is_dir() {
            Ok(Self {
                given: path.to_path_buf(),
                real,
            })
        } else {
            Err(format!("the root `{shown}` is not a directory"))
        }
    }
}

impl Roots {
    /// Adds the roots that the client grants.
    pub(super) fn add_uris<'u>(&mut self, uris: impl IntoIterator<Item = &'u str>) {
        for uri in uris {
            let root = path_of_uri(uri)
                .map_err(|reason| format!("cannot use the root `{uri}`: {reason}"))
                .and_then(|path| Root::new(&path));
            match root {
                Ok(root) => self.add(root),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// Adds a root that is not known yet.
    pub(super) fn add(&mut self, root: Root) {
        if !self.folders.iter().any(|known| known.real == root.real) {
            self.folders.push(root);
        }
    }

    /// Returns the resolved paths.
    pub(super) fn real(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|root| root.real.clone()).collect()
    }

    /// Returns the folders for a message.
    pub(super) fn shown(&self) -> String {
        let all: Vec<String> = self
            .folders
            .iter()
            .map(|root| format!("`{}`", root.given.display()))
            .collect();
        all.join(", ")
    }
}
