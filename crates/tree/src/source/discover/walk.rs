//! Walks directories. Each one is listed once, and later code uses the recorded listing.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filesystem::{Entry, FileSystem, Kind};
use crate::source::discover::folders::{FolderContent, Folders};
use crate::source::discover::ignores::Rules;
use crate::source::discover::linked_worktree::is_linked_worktree;
use crate::source::discover::walk_bounds::WalkBounds;
use crate::source::discover::walk_entry::{WalkEntry, is_manifest, is_script, is_temporary};
use crate::source::discover::walk_options::WalkOptions;
use crate::source::discover::walk_root::Root;
use crate::source::io_error::io_error_reason;
use crate::source::kustomization_name::NAMES;

/// Folder of git, which is not walked. Folders of other version control systems are walked, because git tracks files in
/// them.
const GIT: &str = ".git";

/// Lists the manifests below `root`. Follows symbolic links to files of the same repository, but not to
/// directories, and never opens pipes and devices. Omits files that ignore files hide, unless git tracks them or
/// `--no-ignore` is given, but includes hidden files, because `.github`, `.tekton` and the like contain manifests. Records the listed folders in `folders`.
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
        let is_ignoring = !self.options.no_ignore && !self.files.is_tracked(real);
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
            folder.rules = self.rules_within(&folder, &entries, &mut walked);
            if entries.iter().any(|entry| entry.name == GIT) {
                folder.repository = Some(real.into());
            }
            for entry in &entries {
                self.visit(entry, &folder, folders, &mut next, &mut walked);
            }
            folders.add(folder.path, holds(&entries));
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

    fn rules_within(
        &self,
        folder: &Folder,
        entries: &[Entry],
        walked: &mut Vec<WalkEntry>,
    ) -> Option<Rules> {
        let holds = |name: &str| entries.iter().any(|entry| entry.name == name);
        let real = || self.root.real(&folder.path);
        let within = folder
            .rules
            .as_ref()?
            .within(&folder.path, real, holds, self.files);
        usable(within, walked)
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

fn holds(entries: &[Entry]) -> FolderContent {
    let holds = |names: &[&str]| {
        entries
            .iter()
            .any(|entry| names.iter().any(|name| entry.name == *name))
    };
    FolderContent {
        git: holds(&[".git"]),
        kustomization: holds(&NAMES),
    }
}
