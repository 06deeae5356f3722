//! Kustomizations that are symbolic links. kustomize resolves their entries in the folder of the link, so such a link
//! is a separate file with the text of its target.

use std::ffi::OsStr;
use std::path::Path;

use hashbrown::HashSet;

use crate::source::model::file::{Role, SourceFile};
use crate::source::model::set::SourceSet;

impl SourceFile {
    /// Returns whether the file is a linked kustomization. It is never written.
    #[must_use]
    pub const fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Returns whether the resolved path of the file is in `places`, so that another file has the same text.
    #[must_use]
    pub fn shares_text(&self, places: &HashSet<&OsStr>) -> bool {
        let real = self.resolved_location();
        !places.is_empty() && real.is_some_and(|real| places.contains(real.as_os_str()))
    }
}

impl SourceSet {
    /// Returns the resolved targets of the linked kustomizations.
    pub fn link_targets(&self) -> HashSet<&OsStr> {
        self.files
            .iter()
            .filter(|file| file.is_linked())
            .filter_map(resolved)
            .collect()
    }

    /// Returns the resolved paths of checked files that are targets of linked kustomizations.
    pub fn repeated_targets(&self) -> HashSet<&OsStr> {
        let linked = self.link_targets();
        if linked.is_empty() {
            return linked;
        }
        self.files
            .iter()
            .filter(|file| file.role == Role::Target && !file.is_linked())
            .filter_map(resolved)
            .filter(|place| linked.contains(place))
            .collect()
    }
}

fn resolved(file: &SourceFile) -> Option<&OsStr> {
    file.resolved_location().map(Path::as_os_str)
}
