//! Folders that Flux and Argo CD deploy and that are not among the files of a run: they are read, too.

use std::path::{Path, PathBuf};

use hashbrown::HashSet;
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{Input, Request, Role, SourceFile, SourceSet};

use crate::gitops::{deployed_folder, deployment};

/// Search for the folders that the objects of a set deploy, in rounds.
#[derive(Debug)]
pub struct NamedFolders<'r> {
    request: &'r Request,
    /// The files and folders that were visited.
    seen: HashSet<PathBuf>,
}

impl<'r> NamedFolders<'r> {
    /// Creates a search that has not visited any file.
    #[must_use]
    pub fn new(request: &'r Request) -> Self {
        Self {
            request,
            seen: HashSet::new(),
        }
    }

    /// Returns the folders that files of the set deploy and that were not returned before. Files that are only in the
    /// same repository need not be followed: all folders of the repository are read.
    pub fn missing(&mut self, set: &SourceSet) -> Vec<Input> {
        let mut found = Vec::new();
        for file in &set.files {
            let Some(path) = file.location.as_deref() else {
                continue;
            };
            // Cheap checks first: the text of a file is searched at most once.
            if file.role == Role::Repository
                || self.is_read(path)
                || !self.seen.insert(path.to_path_buf())
                || !may_deploy(file)
            {
                continue;
            }
            let documents = file.documents.iter().filter(|document| !document.patch);
            for object in documents.flat_map(Object::all_in) {
                let folders = deployment::named_paths(&object).into_iter();
                let folders = folders.filter_map(|named| self.folder(path, named));
                let folders: Vec<PathBuf> = folders.collect();
                let new = folders
                    .into_iter()
                    .filter(|folder| self.seen.insert(folder.clone()));
                found.extend(new.map(Input::Resolved));
            }
        }
        found
    }

    /// Returns the folder that an object in `file` deploys, by its resolved path: below the root of the repository, or,
    /// without a repository, below any folder between the working directory and the file.
    fn folder(&self, file: &Path, named: &str) -> Option<PathBuf> {
        let parts = deployed_folder::parts(literal_part(named))?;
        let wanted: PathBuf = parts.iter().collect();
        if parts.is_empty() {
            return None;
        }
        let folder = file.parent()?;
        let files = &self.request.filesystem;
        let repository = files.boundary(folder);
        let directory = &self.request.working_directory;
        let top = match files.exists(&repository.join(".git")) {
            true => repository.as_path(),
            false if folder.starts_with(directory) => directory,
            false => folder,
        };
        let mut above: Vec<&Path> = folder.ancestors().collect();
        above.retain(|above| above.starts_with(top));
        above
            .into_iter()
            .rev()
            .filter_map(|above| {
                files
                    .resolved_within(above, &wanted, &files.boundary(top))
                    .ok()
            })
            .find(|folder| files.is_dir(folder))
    }

    /// Returns whether the whole tree of a file is read.
    fn is_read(&self, file: &Path) -> bool {
        let mut roots = self.request.roots.iter();
        roots.any(|root| file.starts_with(root))
    }
}

/// Returns whether the text of a file mentions an API group whose objects deploy folders.
fn may_deploy(file: &SourceFile) -> bool {
    ["kustomize.toolkit.fluxcd.io/", "argoproj.io/"]
        .into_iter()
        .any(|group| file.text.contains(group))
}

/// Returns the part of a path before its first placeholder or glob, without the last name if that is not complete.
fn literal_part(path: &str) -> &str {
    let end = path.find(['{', '$', '*', '?', '[']);
    match end.and_then(|end| path.get(..end)) {
        Some(start) => start.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::literal_part;

    #[test]
    fn a_path_ends_before_the_first_placeholder() {
        assert_eq!(literal_part("apps/prod"), "apps/prod");
        assert_eq!(literal_part("apps/*/web"), "apps");
        assert_eq!(literal_part("apps/team-{{name}}"), "apps");
        assert_eq!(literal_part("{{path}}"), "");
    }
}
