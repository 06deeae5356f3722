//! Entries that the walk of directories finds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::source::kustomization_name::is_kustomization;

/// Entry that the walk found. The order determines the name of a file with several names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::source) enum WalkEntry {
    File(PathBuf),
    /// A symbolic link to a file, with the resolved path of the file.
    Link(PathBuf, PathBuf),
    /// A symbolic link to a directory, with the resolved path of the directory if that is not outside of the
    /// repository.
    FolderLink(PathBuf, Option<PathBuf>),
    /// A symbolic link to a path that does not exist.
    DanglingLink(PathBuf),
    /// A path that is not opened, with the reason: a link that leads out of the repository, a pipe, a
    /// socket, a device, or an ignore file that is not usable.
    Unopened(PathBuf, String),
    /// A directory that cannot be read, with the reason.
    Fault(PathBuf, String),
    /// A script, or a page that may contain commands.
    Script(PathBuf),
}

/// Start and end of the names of meshprobe's temporary files. Files that a killed run has left are not part of the
/// tree.
pub const TEMPORARY: (&str, &str) = (".meshprobe-", ".tmp");

/// Reason why a link is not followed if there is no repository.
pub(in crate::source) const LEADS_FAR: &str = "it leads out of the tree";

/// Reason why a link is not followed in a repository.
pub(in crate::source) const LEADS_OUT: &str = "it leads out of the repository";

pub(in crate::source) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY.0.as_bytes()) && name.ends_with(TEMPORARY.1.as_bytes())
}

/// Returns whether a file may contain commands for a cluster.
pub(in crate::source) fn is_script(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| {
        ["sh", "bash", "zsh", "mk", "md"]
            .iter()
            .any(|known| extension == *known)
    }) || [
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
    ]
    .iter()
    .any(|known| name == *known)
}

pub(in crate::source) fn is_manifest(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    let by_extension = extension.is_some_and(|extension| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    });
    by_extension || name.to_str().is_some_and(is_kustomization)
}
