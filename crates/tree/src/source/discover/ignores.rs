//! Ignore files: the paths that they hide, and which ignore files must not be opened.
//!
//! If an ignore file is a pipe, a device, a huge file, or a link out of the repository, nothing below its
//! folder is hidden: reading a link to `/dev/zero` would never end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use crate::filesystem::{FileSystem, Kind};
use crate::source::discover::walk_entry::{LEADS_OUT, WalkEntry};
use crate::source::git::folders::git_folders;

/// Names of the ignore files of a folder, by precedence.
const NAMES: [&str; 3] = [".ignore", ".gitignore", ".git"];

/// Maximum size of an ignore file in bytes; real ones are smaller.
const LIMIT: u64 = 4 << 20;

/// Ignore files of one folder, by precedence.
type Found = [Option<IgnoreFile>; NAMES.len()];

/// Ignore file that may be opened.
#[derive(Debug)]
struct IgnoreFile {
    /// Its resolved path.
    real: PathBuf,
}

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
        let found: Vec<(&Path, Found)> = folder
            .ancestors()
            .skip(1)
            .map(|folder| Ok((folder, ignore_files(folder, |_| true, files)?)))
            .collect::<Result<_, WalkEntry>>()?;
        let mut rules = Self::default();
        for (folder, found) in found.into_iter().rev() {
            rules.add(folder, found, files);
        }
        Ok(rules)
    }

    /// Returns the rules for a folder, including those of its own ignore files. `real` returns its resolved path,
    /// `holds` whether it has an entry of a name.
    ///
    /// # Errors
    /// The first file that must not be opened.
    pub(in crate::source) fn within(
        &self,
        folder: &Path,
        real: impl Fn() -> PathBuf,
        holds: impl Fn(&str) -> bool,
        files: &FileSystem,
    ) -> Result<Self, WalkEntry> {
        let found = ignore_files(folder, holds, files)?;
        let mut rules = self.clone();
        if found.iter().any(Option::is_some) {
            rules.add(&real(), found, files);
        }
        Ok(rules)
    }

    fn add(&mut self, folder: &Path, found: Found, files: &FileSystem) {
        for (globs, file) in self.0.iter_mut().zip(found) {
            if let Some(file) = file {
                globs.add(folder, &file, files);
            }
        }
    }

    /// Returns whether there are no patterns.
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
    fn add(&mut self, folder: &Path, file: &IgnoreFile, files: &FileSystem) {
        let Ok(bytes) = files.read_resolved(&file.real) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
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

/// Returns the ignore files of a folder; `holds` returns whether the folder has an entry of a name.
fn ignore_files(
    folder: &Path,
    holds: impl Fn(&str) -> bool,
    files: &FileSystem,
) -> Result<Found, WalkEntry> {
    let mut found = Found::default();
    for (found, name) in found.iter_mut().zip(NAMES).filter(|(_, name)| holds(name)) {
        let path = match name {
            ".git" => exclude_file(folder, files),
            _ => Some(folder.join(name)),
        };
        let Some(path) = path else { continue };
        let Ok(kind) = files.symlink_kind(&path) else {
            continue;
        };
        *found = usable(folder, path, kind, name == ".git", files)?;
    }
    Ok(found)
}

/// Resolves an ignore file, which may be a link. Returns `None` for a dangling link.
///
/// # Errors
/// The file, if it must not be opened.
fn usable(
    folder: &Path,
    path: PathBuf,
    kind: Kind,
    is_of_git: bool,
    files: &FileSystem,
) -> Result<Option<IgnoreFile>, WalkEntry> {
    let refused = |path: PathBuf, what: &str| {
        let reason = format!("{what}, so nothing is hidden by it");
        Err(WalkEntry::Unopened(path, reason))
    };
    let real = files.resolved_or_folded(&path);
    // A repository cannot contain files in `.git`: a link there belongs to the user.
    if kind == Kind::Link && !is_of_git && !files.is_within(folder, &real) {
        return refused(path, LEADS_OUT);
    }
    let Ok(kind) = files.kind(&real) else {
        return Ok(None);
    };
    match unusable(kind, &real, files) {
        Some(what) => refused(path, &format!("it is {what}")),
        None => Ok(Some(IgnoreFile { real })),
    }
}

/// Returns the reason why an ignore file must not be opened, if there is one.
fn unusable(kind: Kind, real: &Path, files: &FileSystem) -> Option<&'static str> {
    let is_large = || {
        let length = files.file_length(real);
        length.is_ok_and(|length| length.is_some_and(|length| length > LIMIT))
    };
    kind.special()
        .or_else(|| is_large().then_some("larger than 4 MiB"))
}

/// Returns the exclude file of a clone, which git does not track.
fn exclude_file(folder: &Path, files: &FileSystem) -> Option<PathBuf> {
    let git = folder.join(".git");
    if files.is_dir(&git) {
        return Some(git.join("info/exclude"));
    }
    let folders = git_folders(&files.resolved_or_folded(folder), files)?;
    Some(folders.shared?.join("info/exclude"))
}
