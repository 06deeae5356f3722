//! Resolved paths of files.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::filesystem::without_dots;
use crate::source::kustomization_name::is_kustomization;
use crate::source::model::file::SourceFile;

impl FileSystem {
    /// Returns the unique path of a file: with links resolved if the file exists, else with `.` and `..` resolved in
    /// the text.
    pub(in crate::source) fn resolved_or_folded(&self, path: &Path) -> PathBuf {
        self.canonical(path).unwrap_or_else(|_| without_dots(path))
    }

    /// Returns a path without `..`. Resolves links in the path if it has `..`, because `..` after a link is the parent
    /// of the target of the link.
    pub(in crate::source) fn without_parent_dirs(&self, path: &Path) -> PathBuf {
        let has_detours = path.components().any(|part| part == Component::ParentDir);
        if !has_detours {
            return path.to_path_buf();
        }
        if self.is_dir(path) {
            return self.resolved_or_folded(path);
        }
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.resolved_or_folded(folder).join(name),
            _ => without_dots(path),
        }
    }

    /// Returns the resolved path of a file.
    pub(in crate::source) fn resolved_path<'f>(
        &self,
        file: &'f SourceFile,
    ) -> Option<Cow<'f, Path>> {
        match &file.real {
            Some(real) => Some(Cow::Borrowed(real)),
            None => {
                let path = file.disk_path.as_deref()?;
                Some(Cow::Owned(self.resolved_or_folded(path)))
            }
        }
    }

    /// Returns the path that identifies a file in a set: that of the link for a linked kustomization, else the resolved
    /// path.
    pub(in crate::source) fn identity_path<'f>(
        &self,
        file: &'f SourceFile,
    ) -> Option<Cow<'f, Path>> {
        match &file.link {
            Some(link) => Some(Cow::Borrowed(link)),
            None => self.resolved_path(file),
        }
    }

    /// Returns the path of a symbolic link with the name of a kustomization, with its folder resolved. Returns `None`
    /// for any other path.
    pub(in crate::source) fn link_place(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?;
        let is_link = name.to_str().is_some_and(is_kustomization) && self.is_symlink(path);
        is_link.then(|| Some(self.resolved_or_folded(path.parent()?).join(name)))?
    }
}
