//! Resolved paths of files.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::filesystem::canonical;
use crate::source::kustomization_name::is_kustomization;
use crate::source::model::file::SourceFile;
use crate::source::paths::without_dots;

/// Returns the unique path of a file: with links resolved if the file exists, else with `.` and `..` resolved in the
/// text.
pub(in crate::source) fn resolved_or_folded(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|_| without_dots(path))
}

/// Returns a path without `..`. Resolves links in the path if it has `..`, because `..` after a link is the parent of
/// the target of the link.
pub(in crate::source) fn without_parent_dirs(path: &Path) -> PathBuf {
    let has_detours = path.components().any(|part| part == Component::ParentDir);
    if !has_detours {
        return path.to_path_buf();
    }
    if path.is_dir() {
        return resolved_or_folded(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolved_or_folded(folder).join(name),
        _ => crate::source::paths::without_dots(path),
    }
}

/// Returns the resolved path of a file.
pub(in crate::source) fn resolved_path(file: &SourceFile) -> Option<Cow<'_, Path>> {
    match &file.real {
        Some(real) => Some(Cow::Borrowed(real)),
        None => Some(Cow::Owned(resolved_or_folded(file.disk_path.as_deref()?))),
    }
}

/// Returns the path that identifies a file in a set: that of the link for a linked kustomization, else the resolved
/// path.
pub(in crate::source) fn identity_path(file: &SourceFile) -> Option<Cow<'_, Path>> {
    match &file.link {
        Some(link) => Some(Cow::Borrowed(link)),
        None => resolved_path(file),
    }
}

/// Returns the path of a symbolic link with the name of a kustomization, with its folder resolved. Returns `None` for
/// any other path.
pub(in crate::source) fn link_place(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let is_link = name.to_str().is_some_and(is_kustomization) && path.is_symlink();
    is_link.then(|| Some(resolved_or_folded(path.parent()?).join(name)))?
}
