//! Conversion between the paths of git, which are bytes with `/`, and those of the system.

use std::path::{Component, Path, PathBuf};

/// Returns the path for the bytes that git prints.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Returns the path for the bytes that git prints.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Returns whether git would check out a path: it is relative, without `..`, and without a folder `.git`.
/// Source: git 2.47, `read-cache.c`, `verify_path`.
pub(super) fn is_valid(path: &Path) -> bool {
    let is_normal = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    path.components().next().is_some() && path.components().all(is_normal)
}

/// Returns the text that git printed, without white space at its end.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
