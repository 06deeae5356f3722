//! Recognizes entries of kustomizations that are generated before a build, such as files with passwords: git ignores them.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::filesystem::FileSystem;
use crate::source::discover::ignores::Rules;

/// Recognizes generated entries. Reads the ignore files of each folder once.
#[derive(Debug, Default)]
pub(super) struct GeneratedEntries {
    /// The rules of folders, by their resolved paths; `None` if an ignore file must not be opened.
    rules: HashMap<PathBuf, Option<Rules>>,
}

impl GeneratedEntries {
    /// Returns whether the missing entry at the resolved path `place` is generated: an ignore file hides it, or a folder of it
    /// that does not contain `folder`, the resolved path of the folder of the kustomization.
    pub(super) fn contain(&mut self, folder: &Path, place: &Path, files: &FileSystem) -> bool {
        let rules = place.parent().and_then(|parent| self.rules(parent, files));
        let own = place
            .ancestors()
            .take_while(|path| !folder.starts_with(path));
        rules.is_some_and(|rules| {
            rules.hide(place, false) || own.into_iter().any(|path| rules.hide(path, true))
        })
    }

    /// Returns the rules for a folder, those of its own ignore files included.
    fn rules(&mut self, folder: &Path, files: &FileSystem) -> Option<&Rules> {
        let unknown = folder.ancestors();
        let unknown: Vec<&Path> = unknown
            .take_while(|above| !self.rules.contains_key(*above))
            .collect();
        for below in unknown.into_iter().rev() {
            let above = match below.parent() {
                Some(parent) => self.rules.get(parent).cloned().flatten(),
                None => Some(Rules::default()),
            };
            let own = || below.to_path_buf();
            let rules = above.and_then(|above| above.within(below, own, |_| true, files).ok());
            self.rules.insert(below.to_path_buf(), rules);
        }
        self.rules.get(folder)?.as_ref()
    }
}
