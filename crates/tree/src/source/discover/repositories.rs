//! Sets the repositories of files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::source::discover::folders::Folders;
use crate::source::discover::request::Request;
use crate::source::git::remotes::remote_urls;
use crate::source::model::set::SourceSet;
use crate::source::shown_path::shown_path;

/// Sets the repository of each file, as a path relative to the working directory, and the remotes of the repositories.
pub fn mark_repositories(set: &mut SourceSet, request: &Request, folders: &Folders) {
    let directory: Arc<Path> = request
        .filesystem
        .resolved_or_folded(&request.working_directory)
        .into();
    let mut roots = Roots {
        working_directory: &request.working_directory,
        folders,
        known: HashMap::new(),
        remotes: BTreeMap::new(),
    };
    let found: Vec<Option<Arc<str>>> = set
        .files
        .iter()
        .map(|file| roots.of(file.disk_path.as_deref()?.parent()?))
        .collect();
    let remotes = std::mem::take(&mut roots.remotes);
    drop(roots);
    set.remotes = Arc::new(remotes);
    for (file, repository) in set.files.iter_mut().zip(found) {
        file.directory = Some(Arc::clone(&directory));
        file.repository = repository;
    }
}

/// Cache of the displayed roots of repositories.
struct Roots<'r, 's> {
    working_directory: &'r Path,
    folders: &'r Folders,
    known: HashMap<&'s OsStr, Option<Arc<str>>>,
    /// The URLs of the remotes, by displayed root.
    remotes: BTreeMap<Arc<str>, Vec<String>>,
}

impl<'s> Roots<'_, 's> {
    /// Returns the root of the repository that contains a folder. Caches the result for each visited ancestor.
    fn of(&mut self, folder: &'s Path) -> Option<Arc<str>> {
        let mut found = None;
        let mut visited = Vec::new();
        for above in folder.ancestors() {
            if let Some(known) = self.known.get(above.as_os_str()) {
                found.clone_from(known);
                break;
            }
            visited.push(above);
            if self.folders.is_repository(above) {
                let root = match shown_path(above, self.working_directory).as_str() {
                    "." => Arc::from(""),
                    shown => format!("{}/", shown.trim_end_matches('/')).into(),
                };
                let remotes = self.remotes.entry(Arc::clone(&root));
                let files = &self.folders.files;
                remotes.or_insert_with(|| remote_urls(&files.resolved_or_folded(above), files));
                found = Some(root);
                break;
            }
        }
        let visited = visited.into_iter();
        self.known
            .extend(visited.map(|path| (path.as_os_str(), found.clone())));
        found
    }
}
