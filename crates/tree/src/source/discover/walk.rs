//! Walks directories.
//!
//! Folders that a walk leaves out, whatever ignore files contain.
//!
//! Folder at which a walk starts.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::candidate::{Folders, Input, Request};
use super::walk_options::{
    LEADS_FAR, LEADS_OUT, Rules, WalkEntry, WalkOptions, is_manifest, is_script, is_temporary,
};
use crate::filesystem::{Entry, FileSystem, Kind};
use crate::source::boundary::CONFIG_NAMES;
use crate::source::read::io_error_reason;
use crate::source::repository::is_linked_worktree;

/// Folder of git, which is not walked. Folders of other version control systems are walked, because git tracks files in
/// them.
const GIT: &str = ".git";

/// Lists the manifests below `root`. Follows symbolic links to files of the same repository, but not to
/// directories, and never opens pipes and devices. Omits files that ignore files hide, unless git tracks them or
/// `--no-ignore` is given, but includes hidden files, because `.github`, `.tekton` and the like contain manifests.
pub(in crate::source) fn walk(
    root: &Root,
    options: &WalkOptions,
    bounds: &WalkBounds,
    shown: impl Fn(&Path) -> String,
    folders: &mut Folders,
) -> Vec<WalkEntry> {
    let walk = Walk {
        files: &root.files,
        root,
        options,
        bounds,
        shown,
    };
    walk.all(folders)
}

struct Walk<'w, S> {
    files: &'w FileSystem,
    root: &'w Root,
    options: &'w WalkOptions,
    bounds: &'w WalkBounds,
    shown: S,
}

/// Folder to list.
#[derive(Clone)]
struct Folder {
    path: PathBuf,
    /// The patterns of the ignore files above it; `None` if ignore files are not used.
    rules: Option<Rules>,
    /// The root of the repository.
    repository: Option<Arc<Path>>,
    /// Whether an ignore file hides it, and git tracks a file below it.
    is_hidden: bool,
}

impl<S: Fn(&Path) -> String> Walk<'_, S> {
    fn all(&self, folders: &mut Folders) -> Vec<WalkEntry> {
        let mut walked = Vec::new();
        let real = &self.root.real;
        let is_tracked = self.files.is_tracked(real);
        let is_ignoring = !self.options.no_ignore && !is_tracked;
        let above = is_ignoring.then(|| Rules::above(real, self.files));
        let mut next = VecDeque::from([Folder {
            path: self.root.path.clone(),
            rules: above.and_then(|above| usable(above, &mut walked)),
            repository: self.files.repository_root(real).map(Arc::from),
            is_hidden: false,
        }]);
        while let Some(mut folder) = next.pop_front() {
            let real = self.root.real(&folder.path);
            let entries = match entries(self.files, &folder.path, &real, &mut walked) {
                Ok(entries) => entries,
                Err(error) => {
                    walked.push(WalkEntry::Fault(folder.path, io_error_reason(&error)));
                    continue;
                }
            };
            if self.bounds.is_other_tree(&real, &entries)
                || self.is_linked_worktree(&folder.path, &real, &entries)
            {
                continue;
            }
            let is_repository = entries.iter().any(|entry| entry.name == GIT);
            // The files of a submodule in a revision are those of the working tree.
            if is_repository
                && is_tracked
                && !self.options.no_ignore
                && !self.files.is_tracked(&real)
            {
                folder.rules = usable(Rules::above(&real, self.files), &mut walked);
            }
            folder.rules = folder.rules.and_then(|rules| {
                usable(rules.within(&folder.path, &real, self.files), &mut walked)
            });
            if is_repository {
                folder.repository = Some(real.into());
            }
            for entry in &entries {
                self.visit(entry, &folder, folders, &mut next, &mut walked);
            }
        }
        walked
    }

    /// Returns whether a folder below the root is another working tree of a repository above it.
    fn is_linked_worktree(&self, folder: &Path, real: &Path, entries: &[Entry]) -> bool {
        let is_git_file = |entry: &Entry| entry.name == GIT && entry.kind == Kind::File;
        folder != self.root.path
            && entries.iter().any(is_git_file)
            && is_linked_worktree(real, self.files)
    }

    fn visit(
        &self,
        entry: &Entry,
        folder: &Folder,
        folders: &mut Folders,
        next: &mut VecDeque<Folder>,
        walked: &mut Vec<WalkEntry>,
    ) {
        let is_directory = entry.kind == Kind::Folder;
        let is_git = entry.name == GIT;
        let is_wanted = || is_manifest(&entry.name) && !is_temporary(&entry.name);
        let is_script = entry.kind == Kind::File && !is_wanted() && is_script(&entry.name);
        if is_git || !(is_directory || is_script || entry.kind == Kind::Link || is_wanted()) {
            return;
        }
        let path = folder.path.join(&entry.name);
        // A link without the name of a manifest may lead to a folder.
        if entry.kind == Kind::Link && !is_wanted() && !self.files.is_dir(&path) {
            return;
        }
        if self.is_excluded(&path, is_directory) {
            return;
        }
        let is_hidden = folder.is_hidden || self.is_ignored(folder, &path, is_directory);
        if is_hidden && !self.may_be_tracked(folder, &path, folders) {
            return;
        }
        if is_directory && self.bounds.omit(|| self.root.real(&path)) {
            return;
        }
        if is_directory {
            next.push_back(Folder {
                path,
                is_hidden,
                ..folder.clone()
            });
        } else if is_script {
            walked.push(WalkEntry::Script(path));
        } else {
            walked.push(self.classify(entry.kind, path));
        }
    }

    fn is_ignored(&self, folder: &Folder, path: &Path, is_directory: bool) -> bool {
        let rules = folder.rules.as_ref().filter(|rules| !rules.are_empty());
        rules.is_some_and(|rules| rules.hide(&self.root.real(path), is_directory))
    }

    fn may_be_tracked(&self, folder: &Folder, path: &Path, folders: &mut Folders) -> bool {
        let repository = folder.repository.as_deref();
        repository.is_some_and(|root| folders.tracked.may_contain(root, &self.root.real(path)))
    }

    fn is_excluded(&self, path: &Path, is_directory: bool) -> bool {
        let exclude = &self.options.exclude;
        !exclude.is_empty() && exclude.excludes(&(self.shown)(path), is_directory)
    }

    /// Classifies an entry of a folder that is not a folder itself.
    fn classify(&self, kind: Kind, path: PathBuf) -> WalkEntry {
        match kind.special() {
            Some(kind) => return WalkEntry::Unopened(path, format!("it is {kind}")),
            None if kind == Kind::File => return WalkEntry::File(path),
            None => {}
        }
        let real = match self.files.canonical(&path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return WalkEntry::DanglingLink(path);
            }
            Err(error) => return WalkEntry::Unopened(path, io_error_reason(&error)),
        };
        let kind = match self.files.kind(&real) {
            Ok(kind) => kind,
            Err(error) => return WalkEntry::Unopened(path, io_error_reason(&error)),
        };
        if kind == Kind::Folder {
            let folder = path.parent().unwrap_or(&path);
            let stays = self.root.leads_out(folder, &real).is_none();
            return WalkEntry::FolderLink(path, stays.then_some(real));
        }
        if let Some(kind) = kind.special() {
            return WalkEntry::Unopened(path, format!("it leads to {kind}"));
        }
        let folder = path.parent().unwrap_or(&path);
        match self.root.leads_out(folder, &real) {
            Some(reason) => WalkEntry::Unopened(path, reason.to_owned()),
            None => WalkEntry::Link(path, real),
        }
    }
}

/// Returns the rules, or `None` if an ignore file must not be opened, and records that file.
fn usable(rules: Result<Rules, WalkEntry>, walked: &mut Vec<WalkEntry>) -> Option<Rules> {
    rules.map_err(|unopened| walked.push(unopened)).ok()
}

/// Lists a folder, sorted by name. Records entries that cannot be read.
fn entries(
    files: &FileSystem,
    folder: &Path,
    real: &Path,
    walked: &mut Vec<WalkEntry>,
) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in files.entries(real)? {
        match entry {
            Ok(entry) => found.push(entry),
            Err(error) => walked.push(WalkEntry::Fault(
                folder.to_path_buf(),
                io_error_reason(&error),
            )),
        }
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Folders that a walk leaves out. Without folders, a walk visits everything below its root.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct WalkBounds {
    /// Folders that are not visited, by resolved path.
    omitted: Vec<PathBuf>,
    files: FileSystem,
    /// The resolved path of the root, if folders below it that declare to be a root are not visited.
    root: Option<PathBuf>,
}

impl WalkBounds {
    /// Returns the bounds of a walk that reads the surroundings of the inputs of a run. Leaves out folders that the run
    /// reads anyway, and trees of their own.
    pub(in crate::source) fn of_surroundings(root: &Root, request: &Request) -> Self {
        let read = folders(request).filter(|folder| *folder != root.real);
        let omitted = request.omitted.iter().map(|path| resolved(request, path));
        Self {
            omitted: read.chain(omitted).collect(),
            files: request.filesystem.clone(),
            root: (!request.walk.isolated).then(|| root.real.clone()),
        }
    }

    /// Returns whether a folder is left out; `real` returns its resolved path.
    pub(in crate::source) fn omit(&self, real: impl Fn() -> PathBuf) -> bool {
        !self.omitted.is_empty() && self.omitted.contains(&real())
    }

    /// Returns whether a folder, given by its resolved path, is a tree of its own below the root.
    pub(in crate::source) fn is_other_tree(&self, real: &Path, entries: &[Entry]) -> bool {
        let has_config = || {
            let is_config = |entry: &Entry| CONFIG_NAMES.iter().any(|name| entry.name == *name);
            entries.iter().any(is_config)
        };
        self.root.as_ref().is_some_and(|root| root != real)
            && has_config()
            && self.files.declares_root(real)
    }
}

/// Returns the roots of a request that are not below one of its inputs.
pub(in crate::source) fn unread_roots(request: &Request) -> Vec<Input> {
    let read: Vec<PathBuf> = folders(request).collect();
    request
        .roots
        .iter()
        .filter(|root| {
            let real = resolved(request, root);
            !read.iter().any(|folder| real.starts_with(folder))
        })
        .cloned()
        .map(Input::Path)
        .collect()
}

/// Iterates over the resolved paths of the folders among the inputs.
fn folders(request: &Request) -> impl Iterator<Item = PathBuf> {
    let inputs = request.targets.iter().chain(&request.context);
    inputs.filter_map(|input| match input {
        Input::Path(path) | Input::Resolved(path) => {
            Some(resolved(request, path)).filter(|path| request.filesystem.is_dir(path))
        }
        Input::Bytes { .. } | Input::Rendered(_) => None,
    })
}

/// Returns the resolved path of a path of a request.
fn resolved(request: &Request, path: &Path) -> PathBuf {
    let path = request.working_directory.join(path);
    request.filesystem.resolved_or_folded(&path)
}

/// Folder at which a walk starts.
#[derive(Clone, Debug)]
pub(in crate::source) struct Root {
    /// Its path as named by the user or a file.
    pub(in crate::source) path: PathBuf,
    /// Its resolved path.
    pub(in crate::source) real: PathBuf,
    /// The resolved path of the folder that links must not leave outside of a repository.
    around: PathBuf,
    pub(in crate::source) files: FileSystem,
}

impl Root {
    /// Creates the root at `path`, with its resolved path.
    pub(in crate::source) fn resolved(
        path: &Path,
        real: PathBuf,
        working_directory: &Path,
        files: &FileSystem,
    ) -> Self {
        let working_directory = files.resolved_or_folded(working_directory);
        let around = if real.starts_with(&working_directory) {
            working_directory
        } else {
            real.clone()
        };
        Self {
            path: path.to_path_buf(),
            real,
            around,
            files: files.clone(),
        }
    }

    /// Returns the reason why a link in `folder` that leads to `real` is not followed, if there is one.
    pub(in crate::source) fn leads_out(&self, folder: &Path, real: &Path) -> Option<&'static str> {
        let folder = self.files.resolved_or_folded(folder);
        match self.files.repository_root(&folder) {
            Some(root) => (!real.starts_with(root)).then_some(LEADS_OUT),
            None => (!real.starts_with(&self.around)).then_some(LEADS_FAR),
        }
    }

    /// Returns the path below [`Root::path`] for a resolved path below the root.
    pub(in crate::source) fn named(&self, real: &Path) -> Option<PathBuf> {
        Some(self.path.join(real.strip_prefix(&self.real).ok()?))
    }

    /// Returns the resolved path of a path below the root that is not a link. The walk does not follow other links, so
    /// resolving the root is sufficient.
    pub(in crate::source) fn real(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.path);
        below.map_or_else(
            |_| self.files.resolved_or_folded(path),
            |below| self.real.join(below),
        )
    }
}
