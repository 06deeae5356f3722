//! Functions for callers that only read the disk.

use std::io;
use std::path::{Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::source::discover::tracked::Tracked;

/// Returns [`FileSystem::boundary`] on disk.
#[must_use]
pub fn boundary(folder: &Path) -> PathBuf {
    FileSystem::default().boundary(folder)
}

/// Returns [`FileSystem::resolved_within`] on disk.
///
/// # Errors
/// The same as of [`FileSystem::resolved_within`].
pub fn resolved_within(
    folder: &Path,
    path: &Path,
    boundary: &Path,
) -> Result<PathBuf, &'static str> {
    FileSystem::default().resolved_within(folder, path, boundary)
}

/// Returns [`FileSystem::resolved_as_named`] on disk.
///
/// # Errors
/// The same as of [`FileSystem::resolved_as_named`].
pub fn resolved_as_named(path: &Path) -> Result<PathBuf, PathBuf> {
    FileSystem::default().resolved_as_named(path, &mut Tracked::default())
}

/// Returns [`FileSystem::tree_root`] on disk.
#[must_use]
pub fn tree_root(path: &Path, isolated: bool) -> Option<PathBuf> {
    FileSystem::default().tree_root(path, isolated)
}

/// Returns [`FileSystem::kustomization_in`] on disk.
#[must_use]
pub fn kustomization_in(folder: &Path) -> Option<PathBuf> {
    FileSystem::default().kustomization_in(folder)
}

/// Reads a file of the disk like [`FileSystem::read_file`].
///
/// # Errors
/// The same as of [`FileSystem::read_file`].
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    FileSystem::default().read_file(path)
}

/// Reads a text file of the disk like [`FileSystem::read_text`].
///
/// # Errors
/// The same as of [`FileSystem::read_text`].
pub fn read_text(path: &Path) -> io::Result<String> {
    FileSystem::default().read_text(path)
}
