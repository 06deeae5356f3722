//! Walks directories.

use std::ffi::OsStr;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use walkdir::WalkDir;

use super::find::reason;
use super::ignores::{Unusable, unusable_in};
use super::kustomization::{identity, is_kustomization};
use super::named::is_within;

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

    /// Tells whether the path, or a directory that it lies in, is excluded.
    #[must_use]
    pub fn excludes(&self, shown: &str, is_directory: bool) -> bool {
        if self.globs.is_empty() {
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
}

/// What the walk met, in the order in which one file with several names is named.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Met {
    File(PathBuf),
    /// A symbolic link to a file.
    Link(PathBuf),
    /// A symbolic link to a directory; only [`walk_all`] tells of them.
    FolderLink(PathBuf),
    /// What is not opened, and why: a link that leads nowhere or out of the repository, a pipe, a
    /// socket, a device, and ignore files that are none.
    Unopened(PathBuf, String),
    /// A directory that cannot be read, and why.
    Fault(PathBuf, String),
}

/// How the names of our temporary files start and end. What a run that was killed has left is no
/// part of the tree.
pub const TEMPORARY: (&str, &str) = (".meshprobe-", ".tmp");

/// A named pipe, in words.
pub(super) const PIPE: &str = "a pipe";

/// Why a link is not followed: where there is a repository.
pub(super) const LEADS_OUT: &str = "it leads out of the repository";

/// Where version control keeps its own files.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Lists the manifests below `root` in no particular order. Symbolic links to files of the same
/// repository are followed, those to directories are not; pipes and devices are never opened. Git-ignored files are left out, unless `--no-ignore` is
/// given; hidden ones are not: deployments live in `.github`, `.tekton` and the like.
pub(super) fn walk(
    root: &Path,
    options: &WalkOptions,
    shown: impl Fn(&Path) -> String + Send + Sync + 'static,
) -> Vec<Met> {
    let met = walk_for(root, options, shown, is_manifest).into_iter();
    met.filter(|met| !matches!(met, Met::FolderLink(_)))
        .collect()
}

/// Lists all files below `root`, manifests or not, and links to directories, as [`walk`] does.
pub(super) fn walk_all(
    root: &Path,
    options: &WalkOptions,
    shown: impl Fn(&Path) -> String + Send + Sync + 'static,
) -> Vec<Met> {
    walk_for(root, options, shown, |_| true)
}

fn walk_for(
    root: &Path,
    options: &WalkOptions,
    shown: impl Fn(&Path) -> String + Send + Sync + 'static,
    wanted: fn(&Path) -> bool,
) -> Vec<Met> {
    let exclude = options.exclude.clone();
    let keep = move |path: &Path, is_directory: bool| {
        let own = |name: &OsStr| VERSION_CONTROL.iter().any(|known| name == *known);
        !path
            .file_name()
            .is_some_and(|name| own(name) || is_temporary(name))
            && !exclude.excludes(&shown(path), is_directory)
    };
    if options.no_ignore {
        walk_everything(root, keep, wanted)
    } else {
        walk_visible(root, keep, wanted)
    }
}

fn walk_visible(
    root: &Path,
    keep: impl Fn(&Path, bool) -> bool + Send + Sync + 'static,
    wanted: fn(&Path) -> bool,
) -> Vec<Met> {
    let keep = Arc::new(keep);
    let unusable = Unusable::default();
    let place = identity(root);
    // The library reads those of the folders above, too.
    let above = place.ancestors().skip(1).find_map(unusable_in);
    let mut found = Vec::new();
    let odd = match above {
        Some((path, reason)) => vec![(root.to_path_buf(), Met::Unopened(path, reason))],
        None if unusable.may_enter(root) => {
            found = walk_hidden(root, &keep, &unusable, wanted);
            unusable.taken()
        }
        None => unusable.taken(),
    };
    for (folder, told) in odd {
        let keep = Arc::clone(&keep);
        found.push(told);
        found.extend(walk_everything(
            &folder,
            move |path, is_directory| keep(path, is_directory),
            wanted,
        ));
    }
    found
}

/// Walks as ignore files say, but not into folders whose own must not be opened.
fn walk_hidden(
    root: &Path,
    keep: &Arc<impl Fn(&Path, bool) -> bool + Send + Sync + 'static>,
    unusable: &Unusable,
    wanted: fn(&Path) -> bool,
) -> Vec<Met> {
    let (keep, unusable) = (Arc::clone(keep), unusable.clone());
    let is_directory = |entry: &DirEntry| entry.file_type().is_some_and(|kind| kind.is_dir());
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        // The user's own global excludes would make results differ from machine to machine.
        .git_global(false)
        .filter_entry(move |entry| {
            let (path, is_directory) = (entry.path(), is_directory(entry));
            entry.depth() == 0
                || (keep(path, is_directory) && (!is_directory || unusable.may_enter(path)))
        })
        .build()
        .filter_map(|entry| match entry {
            Ok(entry) => met(entry.file_type()?, entry.path(), wanted),
            Err(error) => {
                let said = error.io_error().map_or_else(|| error.to_string(), told);
                Some(Met::Fault(path_of(&error, root), said))
            }
        })
        .collect()
}

fn walk_everything(
    root: &Path,
    keep: impl Fn(&Path, bool) -> bool,
    wanted: fn(&Path) -> bool,
) -> Vec<Met> {
    WalkDir::new(root)
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || keep(entry.path(), entry.file_type().is_dir()))
        .filter_map(|entry| match entry {
            Ok(entry) => met(entry.file_type(), entry.path(), wanted),
            Err(error) => {
                let path = error.path().unwrap_or(root).to_path_buf();
                let reason = error.io_error().map_or_else(|| error.to_string(), reason);
                Some(Met::Fault(path, reason))
            }
        })
        .collect()
}

/// What an entry of a directory is to us; nothing where it is not wanted.
fn met(kind: FileType, path: &Path, wanted: fn(&Path) -> bool) -> Option<Met> {
    if !wanted(path) {
        return None;
    }
    if kind.is_file() {
        return Some(Met::File(path.to_path_buf()));
    }
    if kind.is_dir() {
        return None;
    }
    let place = path.to_path_buf();
    if let Some(what) = special(kind) {
        return Some(Met::Unopened(place, format!("it is {what}")));
    }
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return Some(Met::Unopened(place, reason(&error))),
    };
    if metadata.is_dir() {
        return Some(Met::FolderLink(place));
    }
    if let Some(what) = special(metadata.file_type()) {
        return Some(Met::Unopened(place, format!("it leads to {what}")));
    }
    let folder = path.parent().unwrap_or(path);
    Some(if is_within(folder, &identity(path)) {
        Met::Link(place)
    } else {
        Met::Unopened(place, LEADS_OUT.to_owned())
    })
}

/// What a file is that is none with bytes of its own.
#[cfg(unix)]
pub(super) fn special(kind: FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        Some(PIPE)
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        (kind.is_char_device() || kind.is_block_device()).then_some("a device")
    }
}

#[cfg(not(unix))]
pub(super) fn special(_: FileType) -> Option<&'static str> {
    None
}

fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY.0.as_bytes()) && name.ends_with(TEMPORARY.1.as_bytes())
}

/// The library wraps what the system says in a sentence with the path.
fn told(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let inner = inner.and_then(walkdir::Error::io_error);
    reason(inner.unwrap_or(error))
}

fn path_of(error: &ignore::Error, root: &Path) -> PathBuf {
    match error {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err, root)
        }
        _ => root.to_path_buf(),
    }
}

fn is_manifest(path: &Path) -> bool {
    let by_extension = path.extension().is_some_and(|extension| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    });
    by_extension
        || path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_kustomization)
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
