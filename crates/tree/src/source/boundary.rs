//! The repository as a boundary: the content of a repository must not make a run read or write
//! files outside of it. Paths of the command line may be anywhere, unless a link of the repository
//! redirects them.
//!
//! Kustomizations that are symbolic links. kustomize resolves their entries in the folder of the link, so such a link
//! is a separate file with the text of its target.
//!
//! Resolved paths of files.
//!
//! The root of the tree that a file belongs to, from which facts about the file are read.
//!
//! What git tracks: ignore files do not hide it, and its links must not lead out of the repository.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{NodeRef, Span, Tree};

use super::classify::is_kustomization;
use super::model::file::{Role, SourceFile};
use super::model::set::SourceSet;
use crate::filesystem::{FileSystem, Kind, without_dots};
use crate::git::{GitError, TrackedPaths};

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

impl FileSystem {
    /// Returns whether a resolved path is in the repository of `folder`; true where there is no
    /// repository.
    pub(in crate::source) fn is_within(&self, folder: &Path, real: &Path) -> bool {
        let folder = self.resolved_or_folded(folder);
        self.repository_root(&folder)
            .is_none_or(|root| real.starts_with(root))
    }

    /// Returns the folder that paths found in a file of `folder` must stay in: its repository; where
    /// there is none, the folder itself.
    #[must_use]
    pub fn boundary(&self, folder: &Path) -> PathBuf {
        let folder = self.resolved_or_folded(folder);
        match self.repository_root(&folder) {
            Some(root) => root.to_path_buf(),
            None => folder,
        }
    }

    /// Resolves a path from a file of the tree, relative to a folder that exists.
    ///
    /// # Errors
    /// The reason why the path must not be opened: it leads out of `boundary`, a resolved path. Paths outside are
    /// never accessed, so the result does not depend on what exists there.
    pub fn resolved_within(
        &self,
        folder: &Path,
        path: &Path,
        boundary: &Path,
    ) -> Result<PathBuf, &'static str> {
        const LEADS_OUT: &str = "it leads out of the repository";
        // Resolve `..` in the text first: the system must not access paths outside.
        let shortest = without_dots(&self.resolved_or_folded(folder).join(path));
        let named = shortest.strip_prefix(boundary).map_err(|_| LEADS_OUT)?;
        let mut real = boundary.to_path_buf();
        let mut left = LINKS;
        let mut next = VecDeque::new();
        prepend(&mut next, named);
        while let Some(name) = next.pop_front() {
            if name == ".." {
                real.pop();
                if !real.starts_with(boundary) {
                    return Err(LEADS_OUT);
                }
                continue;
            }
            let next_path = real.join(&name);
            match self.read_link(&next_path) {
                Ok(target) => {
                    left = left
                        .checked_sub(1)
                        .ok_or("it leads through too many links")?;
                    if target.has_root() {
                        let target = target.strip_prefix(boundary).map_err(|_| LEADS_OUT)?;
                        real = boundary.to_path_buf();
                        prepend(&mut next, target);
                    } else {
                        prepend(&mut next, &target);
                    }
                }
                Err(_) => real = next_path,
            }
        }
        Ok(real)
    }

    /// Resolves an absolute path that the user names. `tracked` is what git tracks, as far as it is known.
    ///
    /// # Errors
    /// The link that makes the path lead out of the repository to which the link belongs. A link that git
    /// does not track belongs to the user, and may lead anywhere.
    pub(in crate::source) fn resolved_as_named(
        &self,
        path: &Path,
        tracked: &mut Tracked,
    ) -> Result<PathBuf, PathBuf> {
        if let Ok(real) = self.canonical(path)
            && real == path
        {
            // The given path may still contain `.`.
            return Ok(real);
        }
        let mut real = PathBuf::new();
        let mut left = LINKS;
        let mut next = VecDeque::new();
        prepend(&mut next, path);
        while let Some(name) = next.pop_front() {
            if name == ".." {
                real.pop();
                continue;
            }
            // A name with a root replaces what is before it.
            let next_path = real.join(&name);
            let Ok(target) = self.read_link(&next_path) else {
                real = next_path;
                continue;
            };
            left = match left.checked_sub(1) {
                Some(left) if !self.leads_out(&real, &next_path, &target, tracked) => left,
                _ => return Err(next_path),
            };
            prepend(&mut next, &target);
        }
        // If names can have several spellings, as on Windows, choose one.
        Ok(if cfg!(unix) {
            real
        } else {
            self.resolved_or_folded(&real)
        })
    }

    /// Returns whether a link in `folder`, a resolved path, belongs to a repository and leads out of it. Checks only
    /// the text of the target, because the caller checks further links of the path one by one.
    fn leads_out(&self, folder: &Path, link: &Path, target: &Path, tracked: &mut Tracked) -> bool {
        let Some(root) = self.repository_root(folder) else {
            return false;
        };
        if without_dots(&folder.join(target)).starts_with(root) {
            return false;
        }
        self.is_tracked(link) || tracked.may_contain(root, link)
    }
}

/// Inserts the components of a path before the others.
fn prepend(next: &mut VecDeque<OsString>, path: &Path) {
    let parts: Vec<Component<'_>> = path.components().collect();
    let parts = parts.into_iter().filter(|part| *part != Component::CurDir);
    for part in parts.rev() {
        next.push_front(part.as_os_str().to_os_string());
    }
}

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

/// Returns `FileSystem::resolved_as_named` on disk.
///
/// # Errors
/// The same as of `FileSystem::resolved_as_named`.
pub fn resolved_as_named(path: &Path) -> Result<PathBuf, PathBuf> {
    FileSystem::default().resolved_as_named(path, &mut Tracked::default())
}

/// Names of configuration files.
pub const CONFIG_NAMES: [&str; 2] = [".meshprobe.yaml", ".meshprobe.yml"];

impl FileSystem {
    /// Returns the nearest folder that contains a path and is the root of a tree: it contains `.git`, or, unless the
    /// run is `isolated` from configuration files, one with `root: true`. The path is absolute; a folder may be its own
    /// root.
    #[must_use]
    pub fn tree_root(&self, path: &Path, isolated: bool) -> Option<PathBuf> {
        let is_root = |folder: &&Path| {
            self.is_repository(folder) || (!isolated && self.declares_root(folder))
        };
        path.ancestors().find(is_root).map(Path::to_path_buf)
    }

    /// Returns whether the configuration file of a folder contains `root: true`. A file that is not valid declares
    /// nothing; where it is in use, its errors are reported.
    pub(in crate::source) fn declares_root(&self, folder: &Path) -> bool {
        CONFIG_NAMES.iter().any(|name| {
            let file = folder.join(name);
            // A link may lead out of the repository.
            let is_file = self
                .symlink_kind(&file)
                .is_ok_and(|kind| kind == Kind::File);
            let text = is_file.then(|| self.read_resolved_text(&self.resolved_or_folded(&file)));
            matches!(text, Some(Ok(text)) if has_root(&text))
        })
    }
}

fn has_root(text: &str) -> bool {
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()));
    let tree = tree.ok().flatten();
    let spec = tree
        .as_ref()
        .and_then(Tree::root)
        .and_then(|root| root.get("spec"));
    spec.and_then(|spec| spec.get("root"))
        .and_then(NodeRef::text)
        == Some("true")
}

/// What git tracks in the repositories for which this was needed, by their roots: git runs once for each.
#[derive(Debug, Default)]
pub(in crate::source) struct Tracked(HashMap<PathBuf, Result<Option<TrackedPaths>, GitError>>);

impl Tracked {
    /// Returns whether git tracks a resolved path, or a file below it, in the repository at `root`. Returns true if git
    /// cannot tell: a fault may be in a file that is deployed.
    pub(in crate::source) fn may_contain(&mut self, root: &Path, path: &Path) -> bool {
        if !self.0.contains_key(root) {
            self.0.insert(root.to_path_buf(), TrackedPaths::of(root));
        }
        match self.0.get(root) {
            Some(Ok(tracked)) => tracked
                .as_ref()
                .is_some_and(|tracked| tracked.contains(path)),
            Some(Err(_)) | None => true,
        }
    }

    /// Iterates over the repositories whose index git cannot list: `.git`, with the reason.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = (PathBuf, &GitError)> {
        self.0
            .iter()
            .filter_map(|(root, tracked)| Some((root.join(".git"), tracked.as_ref().err()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_true_declares_a_root() {
        assert!(has_root("spec: {root: true}\n"));
        assert!(!has_root("spec: {root: false}\n"));
        assert!(!has_root("root: true\n"));
        assert!(!has_root("spec: [\n"));
    }
}
