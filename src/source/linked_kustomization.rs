//! Kustomizations that are symbolic links. kustomize resolves their entries in the folder of the link, so such a link is a
//! file of its own, with the text of its target.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hashbrown::HashSet;

use super::file::{Role, SourceFile, SourceSet};
use super::kustomization::{identity, is_kustomization, place_of};

/// Returns the place of a symbolic link with the name of a kustomization: its resolved folder and its name. `None` for
/// any other path.
pub(super) fn link_place(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let is_link = name.to_str().is_some_and(is_kustomization) && path.is_symlink();
    is_link.then(|| Some(identity(path.parent()?).join(name)))?
}

/// Returns the place that no two files of a set share: that of the link for a linked kustomization, else that of the text.
pub(super) fn key_of(file: &SourceFile) -> Option<Cow<'_, Path>> {
    match &file.link {
        Some(link) => Some(Cow::Borrowed(link)),
        None => place_of(file),
    }
}

impl SourceFile {
    /// Returns whether the file is a linked kustomization. It is never written.
    #[must_use]
    pub const fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Returns whether the text is also that of another file in `places`.
    #[must_use]
    pub(crate) fn shares_text(&self, places: &HashSet<&OsStr>) -> bool {
        let real = self.resolved_location();
        !places.is_empty() && real.is_some_and(|real| places.contains(real.as_os_str()))
    }
}

impl SourceSet {
    /// Returns the resolved targets of the linked kustomizations.
    pub(crate) fn link_targets(&self) -> HashSet<&OsStr> {
        let linked = self.files.iter().filter(|file| file.is_linked());
        linked.filter_map(resolved).collect()
    }

    /// Returns the places of the checked files whose text linked kustomizations repeat.
    pub(crate) fn repeated_targets(&self) -> HashSet<&OsStr> {
        let linked = self.link_targets();
        if linked.is_empty() {
            return linked;
        }
        let own = self.files.iter();
        own.filter(|file| file.role == Role::Target && !file.is_linked())
            .filter_map(resolved)
            .filter(|place| linked.contains(place))
            .collect()
    }
}

fn resolved(file: &SourceFile) -> Option<&OsStr> {
    file.resolved_location().map(Path::as_os_str)
}
