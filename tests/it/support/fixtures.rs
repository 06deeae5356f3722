//! Finds the test data under `fixtures/`.

use std::path::{Path, PathBuf};

/// Returns the path of a file or folder under `fixtures/`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path)
}

/// Returns the folders in a folder of the fixtures, sorted: one per case.
pub(crate) fn case_folders(path: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixture(path)).unwrap();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}
