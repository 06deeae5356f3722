//! Options for the walk of directories.
//!
//! Entries that the walk of directories finds.
//!
//! Ignore files: the paths that they hide, and which ignore files must not be opened.
//!
//! If an ignore file is a pipe, a device, a huge file, or a link out of the repository, nothing below its
//! folder is hidden: reading a link to `/dev/zero` would never end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use crate::filesystem::{FileSystem, Kind};
use crate::source::classify::is_kustomization;
use crate::source::repository::git_folders;

/// Paths that the user excludes, as globs with the syntax of `.gitignore`.
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
    /// Parses globs, which are matched against displayed paths.
    ///
    /// # Errors
    /// The reason why a glob is invalid, with the glob.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        // In git, a pattern with an unclosed bracket never matches: here it is an error.
        builder.allow_unclosed_class(false);
        for glob in globs {
            builder
                .add_line(None, glob)
                .map_err(|error| error.to_string())?;
        }
        let globs = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { globs })
    }

    pub(in crate::source) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Returns whether the path or one of its parent directories is excluded.
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

/// Options for the walk of directories.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// Whether to read files that `.gitignore` and the like hide. Files that git tracks are never hidden.
    pub no_ignore: bool,
    /// The excluded paths.
    pub exclude: Exclude,
    /// Whether to exclude paths that the user names, too.
    pub force_exclude: bool,
    /// Whether configuration files of the tree are ignored, so that they do not declare trees of their own.
    pub isolated: bool,
}

/// Entry that the walk found. The order determines the name of a file with several names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::source) enum WalkEntry {
    File(PathBuf),
    /// A symbolic link to a file, with the resolved path of the file.
    Link(PathBuf, PathBuf),
    /// A symbolic link to a directory, with the resolved path of the directory if that is not outside of the
    /// repository.
    FolderLink(PathBuf, Option<PathBuf>),
    /// A symbolic link to a path that does not exist.
    DanglingLink(PathBuf),
    /// A path that is not opened, with the reason: a link that leads out of the repository, a pipe, a
    /// socket, a device, or an ignore file that is not usable.
    Unopened(PathBuf, String),
    /// A directory that cannot be read, with the reason.
    Fault(PathBuf, String),
    /// A script, or a page that may contain commands.
    Script(PathBuf),
}

/// Start and end of the names of meshprobe's temporary files. Files that a killed run has left are not part of the
/// tree.
pub const TEMPORARY: (&str, &str) = (".meshprobe-", ".tmp");

/// Reason why a link is not followed outside of a repository.
pub(in crate::source) const LEADS_FAR: &str = "it leads out of the tree";

/// Reason why a link is not followed in a repository.
pub(in crate::source) const LEADS_OUT: &str = "it leads out of the repository";

pub(in crate::source) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY.0.as_bytes()) && name.ends_with(TEMPORARY.1.as_bytes())
}

/// Returns whether a file may contain commands for a cluster.
pub(in crate::source) fn is_script(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| {
        ["sh", "bash", "zsh", "mk", "md"]
            .iter()
            .any(|known| extension == *known)
    }) || [
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
    ]
    .iter()
    .any(|known| name == *known)
}

pub(in crate::source) fn is_manifest(name: &OsStr) -> bool {
    let extension = Path::new(name).extension();
    let by_extension = extension.is_some_and(|extension| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    });
    by_extension || name.to_str().is_some_and(is_kustomization)
}

/// Names of the ignore files of a folder, by precedence.
const NAMES: [&str; 3] = [".ignore", ".gitignore", ".git"];

/// Maximum size of an ignore file in bytes; real ones are smaller.
const LIMIT: u64 = 4 << 20;

/// Patterns of the ignore files of a folder and its ancestors.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct Rules([Globs; NAMES.len()]);

/// Ignore files with the same name, the nearest first.
#[derive(Clone, Debug, Default)]
struct Globs(Option<Arc<(Gitignore, Globs)>>);

impl Rules {
    /// Reads the ignore files of the ancestors of a folder, given by its resolved path.
    ///
    /// # Errors
    /// The first file that must not be opened.
    pub(in crate::source) fn above(folder: &Path, files: &FileSystem) -> Result<Self, WalkEntry> {
        let above: Vec<&Path> = folder.ancestors().skip(1).collect();
        let mut above = above.into_iter().rev();
        above.try_fold(Self::default(), |rules, folder| {
            rules.within(folder, folder, files)
        })
    }

    /// Returns the rules for a folder, including those of its own ignore files. `real` is its resolved path.
    ///
    /// # Errors
    /// The first file that must not be opened.
    pub(in crate::source) fn within(
        &self,
        folder: &Path,
        real: &Path,
        files: &FileSystem,
    ) -> Result<Self, WalkEntry> {
        let mut rules = self.clone();
        for (globs, name) in rules.0.iter_mut().zip(NAMES) {
            let is_of_git = name == ".git";
            let path = match is_of_git {
                true => exclude_file(folder, files),
                false => Some(folder.join(name)),
            };
            if let Some(path) = path
                && let Some(bytes) = read(folder, &path, is_of_git, files)?
            {
                globs.add(real, &bytes);
            }
        }
        Ok(rules)
    }

    /// Returns whether the list of patterns is empty.
    pub(in crate::source) fn are_empty(&self) -> bool {
        self.0.iter().all(|globs| globs.0.is_none())
    }

    /// Returns whether the ignore files hide a resolved path, unless git tracks it.
    pub(in crate::source) fn hide(&self, path: &Path, is_directory: bool) -> bool {
        let mut decisions = self.0.iter().map(|globs| globs.matched(path, is_directory));
        let first = decisions.find(|decision| !decision.is_none());
        first.is_some_and(|decision| decision.is_ignore())
    }
}

impl Globs {
    fn add(&mut self, folder: &Path, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // An invalid line hides nothing.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(globs) if !globs.is_empty() => self.0 = Some(Arc::new((globs, self.clone()))),
            _ => {}
        }
    }

    fn matched(&self, path: &Path, is_directory: bool) -> Match<&Glob> {
        let mut files = std::iter::successors(self.0.as_deref(), |(_, above)| above.0.as_deref());
        let first_match = files.find_map(|(globs, _)| match globs.matched(path, is_directory) {
            Match::None => None,
            decision => Some(decision),
        });
        first_match.unwrap_or(Match::None)
    }
}

/// Reads an ignore file of a folder, which may be a link. Returns `None` if it does not exist.
///
/// # Errors
/// The file, if it must not be opened.
fn read(
    folder: &Path,
    path: &Path,
    is_of_git: bool,
    files: &FileSystem,
) -> Result<Option<Vec<u8>>, WalkEntry> {
    let refused = |what: &str| {
        let reason = format!("{what}, so nothing is hidden by it");
        Err(WalkEntry::Unopened(path.to_path_buf(), reason))
    };
    let real = files.resolved_or_folded(path);
    // A repository cannot contain files in `.git`: a link there belongs to the user.
    if !is_of_git && files.is_symlink(path) && !files.is_within(folder, &real) {
        return refused(LEADS_OUT);
    }
    let Ok(kind) = files.kind(&real) else {
        return Ok(None);
    };
    if let Some(what) = kind.special() {
        return refused(&format!("it is {what}"));
    }
    let length = files.file_length(&real).ok().flatten();
    if length.is_some_and(|length| length > LIMIT) {
        return refused("it is larger than 4 MiB");
    }
    Ok(files.read_resolved(&real).ok())
}

/// Returns the exclude file of a clone, which git does not track.
fn exclude_file(folder: &Path, files: &FileSystem) -> Option<PathBuf> {
    let git = folder.join(".git");
    match files.kind(&git) {
        Ok(Kind::Folder) => return Some(git.join("info/exclude")),
        Ok(_) => {}
        Err(_) => return None,
    }
    let folders = git_folders(&files.resolved_or_folded(folder), files)?;
    Some(folders.shared?.join("info/exclude"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
