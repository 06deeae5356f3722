//! Walks directories: each is listed once, and what that shows is kept for those who ask later.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::filesystem::{self, Entry, Kind, canonical};

use super::boundary::repository_root;
use super::find::reason;
use super::folders::{Folders, Holds};
use super::ignores::{Hider, Rules};
use super::kustomization::{NAMES, identity, is_kustomization};

/// What the user does not want to see, as globs with the meaning of `.gitignore`.
#[derive(Clone, Debug)]
pub struct Exclude {
    globs: Gitignore,
}

impl Default for Exclude {
    fn default() -> Self {
        Self {
            globs: Gitignore::empty(),
        }
    }
}

impl Exclude {
    /// Reads the globs; paths shown to the user are matched against them.
    ///
    /// # Errors
    /// The reason why a glob cannot be read, with the glob.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        // git takes an open bracket for a pattern that never matches: here it is a mistake.
        builder.allow_unclosed_class(false);
        for glob in globs {
            builder
                .add_line(None, glob)
                .map_err(|error| error.to_string())?;
        }
        let globs = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { globs })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Tells whether the path, or a directory that it lies in, is excluded.
    #[must_use]
    pub fn excludes(&self, shown: &str, is_directory: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let path = Path::new(shown.trim_start_matches('/'));
        path.ancestors()
            .enumerate()
            .filter(|(_, part)| !part.as_os_str().is_empty())
            .any(|(up, part)| self.globs.matched(part, is_directory || up > 0).is_ignore())
    }
}

/// How directories are walked.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// Read what `.gitignore` and the like hide.
    pub no_ignore: bool,
    /// What is left out.
    pub exclude: Exclude,
    /// Leave that out even where the user names it.
    pub force_exclude: bool,
    /// Which tracked files that ignore files hide are reported.
    pub tracked_hidden: TrackedHidden,
}

/// Which tracked files that ignore files hide are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackedHidden {
    /// None: git's index is not read.
    #[default]
    None,
    /// All of them, for a report.
    Manifests,
    /// Kustomizations, and objects that deploy folders: they may change what a rewrite edits.
    Overlays,
}

/// What the walk met, in the order in which one file with several names is named.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Met {
    File(PathBuf),
    /// A symbolic link to a file, with the resolved path of the file.
    Link(PathBuf, PathBuf),
    /// A symbolic link to a directory, with the resolved path of the directory where that is not out of the repository.
    FolderLink(PathBuf, Option<PathBuf>),
    /// A symbolic link to a path that does not exist.
    DanglingLink(PathBuf),
    /// What is not opened, and why: a link that leads out of the repository, a pipe, a
    /// socket, a device, and ignore files that are none.
    Unopened(PathBuf, String),
    /// A directory that cannot be read, and why.
    Fault(PathBuf, String),
    /// What an ignore file hides, by its resolved path; only where that is to be reported.
    Hidden(PathBuf, Hider),
}

/// How the names of our temporary files start and end. What a run that was killed has left is no
/// part of the tree.
pub const TEMPORARY: (&str, &str) = (".meshprobe-", ".tmp");

/// Why a link is not followed where there is no repository.
pub(super) const LEADS_FAR: &str = "it leads out of the tree";

/// Why a link is not followed where there is a repository.
pub(super) const LEADS_OUT: &str = "it leads out of the repository";

/// Where git keeps its own files. Git tracks files in the folders of other version control systems, so those are walked.
const GIT: &str = ".git";

/// A folder to list all files of.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// As it was named.
    pub(super) path: PathBuf,
    /// Its resolved path.
    real: PathBuf,
    /// What links must stay in where there is no repository, by its resolved path.
    around: PathBuf,
}

impl Root {
    /// The folder at `path`, with its resolved path.
    pub(super) fn resolved(path: &Path, real: PathBuf, working_directory: &Path) -> Self {
        let working_directory = identity(working_directory);
        let around = if real.starts_with(&working_directory) {
            working_directory
        } else {
            real.clone()
        };
        Self {
            path: path.to_path_buf(),
            real,
            around,
        }
    }

    /// Why a link in `folder` that leads to `real` is not followed.
    fn leads_out(&self, folder: &Path, real: &Path) -> Option<&'static str> {
        match repository_root(&identity(folder)) {
            Some(root) => (!real.starts_with(root)).then_some(LEADS_OUT),
            None => (!real.starts_with(&self.around)).then_some(LEADS_FAR),
        }
    }

    /// Returns how a resolved path below the root is named.
    pub(super) fn named(&self, real: &Path) -> Option<PathBuf> {
        Some(self.path.join(real.strip_prefix(&self.real).ok()?))
    }

    /// Returns the one spelling of a path that is no link: nothing else below the root leads
    /// elsewhere.
    pub(super) fn real(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.path);
        below.map_or_else(|_| identity(path), |below| self.real.join(below))
    }
}

/// Lists the manifests below `root`. Symbolic links to
/// files of the same repository are followed, those to directories are not; pipes and devices are
/// never opened. Git-ignored files are left out, unless `--no-ignore` is given; hidden ones are not:
/// deployments live in `.github`, `.tekton` and the like. `folders` is told what was listed.
pub(super) fn walk(
    root: &Root,
    options: &WalkOptions,
    shown: impl Fn(&Path) -> String,
    folders: &mut Folders,
) -> Vec<Met> {
    let walk = Walk {
        root,
        options,
        shown,
        wanted: is_manifest,
    };
    walk.all(folders)
}

/// Lists all files below `root`, manifests or not, and links to directories, as [`walk`] does.
pub(super) fn walk_all(
    root: &Root,
    options: &WalkOptions,
    shown: impl Fn(&Path) -> String,
) -> Vec<Met> {
    let walk = Walk {
        root,
        options,
        shown,
        wanted: |_| true,
    };
    walk.all(&mut Folders::default())
}

struct Walk<'w, S> {
    root: &'w Root,
    options: &'w WalkOptions,
    shown: S,
    wanted: fn(&OsStr) -> bool,
}

/// A folder to be listed.
struct Folder {
    path: PathBuf,
    /// What ignore files above it hide; nothing where none counts.
    rules: Option<Rules>,
}

impl<S: Fn(&Path) -> String> Walk<'_, S> {
    fn all(&self, folders: &mut Folders) -> Vec<Met> {
        let mut met = Vec::new();
        let above = (!self.options.no_ignore).then(|| Rules::above(&self.root.real));
        let rules = above.and_then(|above| usable(above, &mut met));
        let path = self.root.path.clone();
        let mut next = VecDeque::from([Folder { path, rules }]);
        while let Some(folder) = next.pop_front() {
            let real = self.root.real(&folder.path);
            let entries = match entries(&folder.path, &real, &mut met) {
                Ok(entries) => entries,
                Err(error) => {
                    met.push(Met::Fault(folder.path, reason(&error)));
                    continue;
                }
            };
            let rules = self.rules_within(&folder, &entries, &mut met);
            for entry in &entries {
                self.look_at(entry, &folder.path, &rules, &mut next, &mut met);
            }
            folders.add(folder.path, holds(&entries));
        }
        met
    }

    fn rules_within(
        &self,
        folder: &Folder,
        entries: &[Entry],
        met: &mut Vec<Met>,
    ) -> Option<Rules> {
        let holds = |name: &str| entries.iter().any(|entry| entry.name == name);
        let real = || self.root.real(&folder.path);
        let within = folder.rules.as_ref()?.within(&folder.path, real, holds);
        usable(within, met)
    }

    fn look_at(
        &self,
        entry: &Entry,
        folder: &Path,
        rules: &Option<Rules>,
        next: &mut VecDeque<Folder>,
        met: &mut Vec<Met>,
    ) {
        let is_directory = entry.kind == Kind::Folder;
        let own = entry.name == GIT;
        let is_wanted = || (self.wanted)(&entry.name) && !is_temporary(&entry.name);
        if own || !(is_directory || entry.kind == Kind::Link || is_wanted()) {
            return;
        }
        let path = folder.join(&entry.name);
        // A link with the name of no manifest may be one to a folder.
        if entry.kind == Kind::Link && !is_wanted() && !path.is_dir() {
            return;
        }
        if self.is_excluded(&path, is_directory) {
            return;
        }
        let rules_here = rules.as_ref().filter(|rules| !rules.are_empty());
        if let Some(rules) = rules_here {
            let real = self.root.real(&path);
            if rules.hide(&real, is_directory) {
                if self.options.tracked_hidden != TrackedHidden::None {
                    let hider = rules.hider(&real, is_directory);
                    met.extend(hider.map(|hider| Met::Hidden(real, hider)));
                }
                return;
            }
        }
        if is_directory {
            let rules = rules.clone();
            next.push_back(Folder { path, rules });
        } else {
            met.push(self.met(entry.kind, path));
        }
    }

    fn is_excluded(&self, path: &Path, is_directory: bool) -> bool {
        let exclude = &self.options.exclude;
        !exclude.is_empty() && exclude.excludes(&(self.shown)(path), is_directory)
    }

    /// What an entry of a folder is to the run; the entry is not a folder.
    fn met(&self, kind: Kind, path: PathBuf) -> Met {
        match kind.special() {
            Some(what) => return Met::Unopened(path, format!("it is {what}")),
            None if kind == Kind::File => return Met::File(path),
            None => {}
        }
        let real = match canonical(&path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Met::DanglingLink(path);
            }
            Err(error) => return Met::Unopened(path, reason(&error)),
        };
        let metadata = match std::fs::metadata(&real) {
            Ok(metadata) => metadata,
            Err(error) => return Met::Unopened(path, reason(&error)),
        };
        if metadata.is_dir() {
            let folder = path.parent().unwrap_or(&path);
            let stays = self.root.leads_out(folder, &real).is_none();
            return Met::FolderLink(path, stays.then_some(real));
        }
        if let Some(what) = Kind::from(metadata.file_type()).special() {
            return Met::Unopened(path, format!("it leads to {what}"));
        }
        let folder = path.parent().unwrap_or(&path);
        match self.root.leads_out(folder, &real) {
            Some(why) => Met::Unopened(path, why.to_owned()),
            None => Met::Link(path, real),
        }
    }
}

/// Nothing is hidden where an ignore file must not be opened, which is told.
fn usable(rules: Result<Rules, Met>, met: &mut Vec<Met>) -> Option<Rules> {
    rules.map_err(|unopened| met.push(unopened)).ok()
}

/// Lists a folder, sorted; tells of entries that cannot be read.
fn entries(folder: &Path, real: &Path, met: &mut Vec<Met>) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in filesystem::entries(real)? {
        match entry {
            Ok(entry) => found.push(entry),
            Err(error) => met.push(Met::Fault(folder.to_path_buf(), reason(&error))),
        }
    }
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn holds(entries: &[Entry]) -> Holds {
    let holds = |names: &[&str]| {
        let mut all = entries.iter();
        all.any(|entry| names.iter().any(|name| entry.name == *name))
    };
    Holds {
        git: holds(&[".git"]),
        kustomization: holds(&NAMES),
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY.0.as_bytes()) && name.ends_with(TEMPORARY.1.as_bytes())
}

pub(super) fn is_manifest(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    let by_extension = extension.is_some_and(|extension| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    });
    by_extension || name.to_str().is_some_and(is_kustomization)
}

#[cfg(test)]
mod tests {
    use super::Exclude;

    #[test]
    fn globs_match_as_in_gitignore() {
        let exclude = Exclude::new(["vendor/", "*.gen.yaml", "/a/b.yaml"]).unwrap();
        assert!(exclude.excludes("x/vendor/y.yaml", false));
        assert!(exclude.excludes("x/y.gen.yaml", false));
        assert!(exclude.excludes("a/b.yaml", false));
        assert!(exclude.excludes("/abs/vendor/y.yaml", false));
        assert!(!exclude.excludes("c/a/b.yaml", false));
        assert!(!exclude.excludes("vendor", false));
        assert!(exclude.excludes("../vendor/x.yaml", false));
        assert!(Exclude::new(["a[z-a]"]).is_err());
        assert!(Exclude::new(["["]).is_err());
    }
}
