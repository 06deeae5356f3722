//! Ignore files: what they hide, and which of them must not be opened.
//!
//! Where one is a pipe, a device or something huge, nothing below its folder is hidden: a link to
//! `/dev/zero` has no end to read to.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::named::is_ordinary;
use super::read::read_text;
use super::walk::{Met, special};

/// The ignore files of a folder, by what prevails.
const NAMES: [&str; 3] = [".ignore", ".gitignore", ".git"];

/// What is larger was not written by anybody: bytes.
const LIMIT: u64 = 4 << 20;

/// The ignore files of one folder, by what prevails.
type Files = [Option<PathBuf>; NAMES.len()];

/// What the ignore files of a folder and of those above it hide.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules([Globs; NAMES.len()]);

/// The ignore files of one name, the nearest first.
#[derive(Clone, Debug, Default)]
struct Globs(Option<Arc<(Gitignore, Globs)>>);

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
        let mut said = self.0.iter().map(|globs| globs.matched(path, is_directory));
        said.find(|said| !said.is_none())
            .is_some_and(|said| said.is_ignore())
    }
}

impl Globs {
    fn add(&mut self, folder: &Path, file: &Path) {
        let mut builder = GitignoreBuilder::new(folder);
        // A line that cannot be read hides nothing.
        builder.add(file);
        match builder.build() {
            Ok(globs) if !globs.is_empty() => self.0 = Some(Arc::new((globs, self.clone()))),
            _ => {}
        }
    }

    fn matched(&self, path: &Path, is_directory: bool) -> Match<()> {
        let mut files = std::iter::successors(self.0.as_deref(), |(_, above)| above.0.as_deref());
        let said = files.find_map(|(globs, _)| match globs.matched(path, is_directory) {
            Match::None => None,
            said => Some(said.map(|_| ())),
        });
        said.unwrap_or(Match::None)
    }
}

/// The ignore files of a folder of which something is said to be there.
fn ignore_files(folder: &Path, holds: impl Fn(&str) -> bool) -> Result<Files, Met> {
    let mut found = Files::default();
    for (found, name) in found.iter_mut().zip(NAMES).filter(|(_, name)| holds(name)) {
        let file = match name {
            ".git" => exclude_file(folder),
            _ => Some(folder.join(name)),
        };
        let Some(file) = file else { continue };
        let Ok(metadata) = std::fs::metadata(&file) else {
            continue;
        };
        if let Some(what) = unusable(&metadata) {
            let reason = format!("it is {what}, so nothing is hidden by it");
            return Err(Met::Unopened(file, reason));
        }
        *found = Some(file);
    }
    Ok(found)
}

/// Why an ignore file must not be opened.
fn unusable(metadata: &Metadata) -> Option<&'static str> {
    let what = special(metadata.file_type());
    what.or((metadata.len() > LIMIT).then_some("larger than 4 MiB"))
}

/// What a clone hides without saying so to others.
fn exclude_file(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let git = if git.is_file() {
        shared(folder, &git)?
    } else {
        git
    };
    Some(git.join("info/exclude"))
}

/// What the `.git` of a worktree shares with the clone that it belongs to.
fn shared(folder: &Path, git: &Path) -> Option<PathBuf> {
    let own = folder.join(first_line(git)?.strip_prefix("gitdir: ")?);
    Some(own.join(first_line(&own.join("commondir"))?))
}

fn first_line(file: &Path) -> Option<String> {
    let text = is_ordinary(file).then(|| read_text(file).ok())??;
    text.lines().next().map(str::to_owned)
}
