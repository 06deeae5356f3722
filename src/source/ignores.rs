//! Ignore files: what they hide, and which of them must not be opened.
//!
//! Where one is a pipe, a device or something huge, or a link out of the repository, nothing below
//! its folder is hidden: a link to `/dev/zero` has no end to read to.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use crate::filesystem::Kind;

use super::boundary::is_within;
use super::git::git_folders;
use super::kustomization::identity;
use super::read::read_resolved;
use super::walk::{LEADS_OUT, Met};

/// The ignore files of a folder, by what prevails.
const NAMES: [&str; 3] = [".ignore", ".gitignore", ".git"];

/// No one wrote an ignore file that is larger: bytes.
const LIMIT: u64 = 4 << 20;

/// The ignore files of one folder, by what prevails.
type Files = [Option<IgnoreFile>; NAMES.len()];

/// An ignore file that may be opened.
#[derive(Debug)]
struct IgnoreFile {
    /// As it was found.
    path: PathBuf,
    /// Its resolved path.
    real: PathBuf,
}

/// What the ignore files of a folder and of those above it hide.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules([Globs; NAMES.len()]);

/// The ignore files of one name, the nearest first.
#[derive(Clone, Debug, Default)]
struct Globs(Option<Arc<(Gitignore, Globs)>>);

/// The line of an ignore file that hides something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hider {
    /// The ignore file.
    pub(super) file: PathBuf,
    /// The pattern, as it is written there.
    pub(super) pattern: String,
}

impl Rules {
    /// Reads the ignore files of the folders above one, which is given by its one spelling.
    ///
    /// # Errors
    /// The first file that must not be opened.
    pub(super) fn above(folder: &Path) -> Result<Self, Met> {
        let above = folder.ancestors().skip(1);
        let found = above.map(|folder| Ok((folder, ignore_files(folder, |_| true)?)));
        let found: Vec<(&Path, Files)> = found.collect::<Result<_, Met>>()?;
        let mut rules = Self::default();
        for (folder, files) in found.into_iter().rev() {
            rules.add(folder, files);
        }
        Ok(rules)
    }

    /// Returns the rules within a folder: with those of its own files. `real` is the one spelling of
    /// it, `holds` tells what lies in it.
    ///
    /// # Errors
    /// The first file that must not be opened.
    pub(super) fn within(
        &self,
        folder: &Path,
        real: impl Fn() -> PathBuf,
        holds: impl Fn(&str) -> bool,
    ) -> Result<Self, Met> {
        let files = ignore_files(folder, holds)?;
        let mut rules = self.clone();
        if files.iter().any(Option::is_some) {
            rules.add(&real(), files);
        }
        Ok(rules)
    }

    fn add(&mut self, folder: &Path, files: Files) {
        for (globs, file) in self.0.iter_mut().zip(files) {
            if let Some(file) = file {
                globs.add(folder, &file);
            }
        }
    }

    /// Tells whether nothing at all is hidden.
    pub(super) fn are_empty(&self) -> bool {
        self.0.iter().all(|globs| globs.0.is_none())
    }

    /// Tells whether a path, in its one spelling, is hidden.
    pub(super) fn hide(&self, path: &Path, is_directory: bool) -> bool {
        self.decisive(path, is_directory).is_ignore()
    }

    /// Returns the line that hides a path, in its one spelling.
    pub(super) fn hider(&self, path: &Path, is_directory: bool) -> Option<Hider> {
        match self.decisive(path, is_directory) {
            Match::Ignore(glob) => Some(Hider {
                file: glob.from()?.to_path_buf(),
                pattern: glob.original().to_owned(),
            }),
            Match::None | Match::Whitelist(_) => None,
        }
    }

    fn decisive(&self, path: &Path, is_directory: bool) -> Match<&Glob> {
        let mut matches = self.0.iter().map(|globs| globs.matched(path, is_directory));
        let decisive = matches.find(|decision| !decision.is_none());
        decisive.unwrap_or(Match::None)
    }
}

impl Globs {
    fn add(&mut self, folder: &Path, file: &IgnoreFile) {
        let Ok(bytes) = read_resolved(&file.real) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A line that cannot be read hides nothing.
            let _ = builder.add_line(Some(file.path.clone()), line);
        }
        match builder.build() {
            Ok(globs) if !globs.is_empty() => self.0 = Some(Arc::new((globs, self.clone()))),
            _ => {}
        }
    }

    fn matched(&self, path: &Path, is_directory: bool) -> Match<&Glob> {
        let mut files = std::iter::successors(self.0.as_deref(), |(_, above)| above.0.as_deref());
        let decisive = files.find_map(|(globs, _)| match globs.matched(path, is_directory) {
            Match::None => None,
            decision => Some(decision),
        });
        decisive.unwrap_or(Match::None)
    }
}

/// The ignore files of a folder of which something is said to be there.
fn ignore_files(folder: &Path, holds: impl Fn(&str) -> bool) -> Result<Files, Met> {
    let mut found = Files::default();
    for (found, name) in found.iter_mut().zip(NAMES).filter(|(_, name)| holds(name)) {
        let path = match name {
            ".git" => exclude_file(folder),
            _ => Some(folder.join(name)),
        };
        let Some(path) = path else { continue };
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        *found = usable(folder, path, &metadata, name == ".git")?;
    }
    Ok(found)
}

/// Resolves an ignore file, which may be a link; nothing where that leads nowhere.
///
/// # Errors
/// The file, where it must not be opened.
fn usable(
    folder: &Path,
    path: PathBuf,
    metadata: &Metadata,
    is_of_git: bool,
) -> Result<Option<IgnoreFile>, Met> {
    let refused = |path: PathBuf, what: &str| {
        let reason = format!("{what}, so nothing is hidden by it");
        Err(Met::Unopened(path, reason))
    };
    let real = if metadata.is_symlink() {
        let real = identity(&path);
        // A repository cannot contain what is in `.git`: a link there is the user's.
        if !is_of_git && !is_within(folder, &real) {
            return refused(path, LEADS_OUT);
        }
        real
    } else {
        identity(&path)
    };
    let Ok(metadata) = std::fs::metadata(&real) else {
        return Ok(None);
    };
    match unusable(&metadata) {
        Some(what) => refused(path, &format!("it is {what}")),
        None => Ok(Some(IgnoreFile { path, real })),
    }
}

/// Why an ignore file must not be opened.
fn unusable(metadata: &Metadata) -> Option<&'static str> {
    let special = Kind::from(metadata.file_type()).special();
    special.or((metadata.len() > LIMIT).then_some("larger than 4 MiB"))
}

/// What a clone hides without telling others.
fn exclude_file(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let folders = git_folders(&identity(folder))?;
    Some(folders.shared?.join("info/exclude"))
}
