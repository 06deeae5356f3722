//! The text of a path, without access to files.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` in the text of a path. Links are not followed, and `..` at the root is dropped.
#[must_use]
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
