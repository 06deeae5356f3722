//! Copies a tree with its changed files to another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{
    Input, Request, TreeItem, TreeKind, canonical, read_text, reason, shown_path, tree_items,
};

use super::changed::Changed;
use super::write::{Like, WriteFailure, replace};

/// The file in a copy that lists what was copied: these files may be overwritten by the next copy.
const LIST: &str = ".meshprobe-copy";

/// The first line of that file.
const HEADER: &str =
    "# Copied by `meshprobe rewrite -o`, which overwrites these files the next time.";

/// A copy that was made.
#[derive(Debug, Default)]
pub struct Mirror {
    /// How many files and links were written.
    pub files: usize,
    /// Those that could not be read or written.
    pub failures: Vec<WriteFailure>,
    /// Links that lead nowhere or out of the repository, pipes and devices: they are left out.
    pub left_out: Vec<WriteFailure>,
    /// The changed files, as shown to the user, that are not in the copy.
    pub lost: BTreeSet<Arc<str>>,
}

/// One item and where its copy goes.
struct Copy<'c> {
    item: TreeItem,
    to: PathBuf,
    changed: Option<&'c Changed>,
}

/// Copies every file below the targets of `request` into `directory`, `changed` ones with their
/// new text. Places are kept relative to the folder that holds all targets; permissions are kept,
/// links to files become files. A link to a folder stays a link where that folder is copied, else
/// it becomes a folder. What lies below `directory` itself is left out. Each file is written whole
/// or not at all.
///
/// # Errors
/// In words, before anything is written, where a copy would take the place of a file of the tree,
/// or of another file that is no copy of an earlier run.
pub fn mirror_all(
    request: &Request,
    changed: &[Changed],
    directory: &Path,
) -> Result<Mirror, String> {
    let directory = request.working_directory.join(directory);
    let mut above = directory.ancestors();
    let existing = above.find(|above| fs::symlink_metadata(above).is_ok());
    if let Some(file) = existing.filter(|existing| !existing.is_dir()) {
        let file = shown_path(file, &request.working_directory);
        return Err(format!("{file} is no folder"));
    }
    let shown = |path: &Path| Arc::from(shown_path(path, &request.working_directory));
    let texts: BTreeMap<PathBuf, &Changed> = changed
        .iter()
        .filter_map(|file| Some((canonical(file.location.as_deref()?).ok()?, file)))
        .collect();
    let mut done = Mirror::default();
    let mut copies = Vec::new();
    let items = tree_items(request).into_iter();
    for item in items.filter(|item| !is_earlier_copy(request, &directory, &item.path)) {
        let failure = |reason: &String| WriteFailure {
            path: shown(&item.path),
            reason: reason.clone(),
        };
        match &item.kind {
            TreeKind::Dangling(reason) => done.left_out.push(failure(reason)),
            TreeKind::Fault(reason) => done.failures.push(failure(reason)),
            TreeKind::File(identity) => copies.push(Copy {
                to: directory.join(&item.below),
                changed: texts.get(identity).copied(),
                item,
            }),
            TreeKind::Link(_) => copies.push(Copy {
                to: directory.join(&item.below),
                changed: None,
                item,
            }),
        }
    }
    copies.retain(|copy| copy.item.below != Path::new(LIST));
    let mut list = List::read(&directory);
    refuse(&copies, &list).map_err(|(path, why)| format!("{} {why}", shown(path)))?;
    // Links come last: nothing is written through them.
    copies.sort_by_key(|copy| matches!(copy.item.kind, TreeKind::Link(_)));
    let mut written = BTreeSet::new();
    for copy in &copies {
        match copy.write() {
            Ok(()) => {
                done.files += 1;
                list.0.insert(slashed(&copy.item.below));
                written.extend(copy.changed.map(|file| Arc::clone(&file.path)));
            }
            Err(reason) => {
                let path = shown(&copy.to);
                done.failures.push(WriteFailure { path, reason });
            }
        }
    }
    let on_disk = changed.iter().filter(|file| file.location.is_some());
    let lost = on_disk.filter(|file| !written.contains(&file.path));
    done.lost = lost.map(|file| Arc::clone(&file.path)).collect();
    if done.files > 0
        && let Err(error) = list.write(&directory)
    {
        let path = shown(&directory.join(LIST));
        let reason = reason(&error);
        done.failures.push(WriteFailure { path, reason });
    }
    Ok(done)
}

/// Names a place that must not be written to, and why.
fn refuse<'c>(copies: &'c [Copy<'_>], list: &List) -> Result<(), (&'c Path, &'static str)> {
    let sources: BTreeSet<&PathBuf> = copies
        .iter()
        .filter_map(|copy| match &copy.item.kind {
            TreeKind::File(identity) => Some(identity),
            _ => None,
        })
        .collect();
    for copy in copies {
        let there = canonical(&copy.to);
        if there.is_ok_and(|there| sources.contains(&there)) {
            return Err((&copy.to, "is a file of the tree itself"));
        }
        if !list.0.contains(&slashed(&copy.item.below)) && copy.differs() {
            let why = "is there already, and is no copy of an earlier run: remove it or take another \
                       folder";
            return Err((&copy.to, why));
        }
    }
    Ok(())
}

/// Tells whether `path` lies in `directory` while the tree that is read goes beyond it: such
/// files are copies of an earlier run.
#[must_use]
pub fn is_earlier_copy(request: &Request, directory: &Path, path: &Path) -> bool {
    let Ok(directory) = canonical(&request.working_directory.join(directory)) else {
        return false;
    };
    let is_named = request.targets.iter().any(|target| match target {
        Input::Path(named) => {
            let named = canonical(&request.working_directory.join(named));
            named.is_ok_and(|named| named.starts_with(&directory))
        }
        Input::Bytes { .. } | Input::Rendered(_) => false,
    });
    let parent = path.parent().and_then(|parent| canonical(parent).ok());
    !is_named && parent.is_some_and(|parent| parent.starts_with(&directory))
}

impl Copy<'_> {
    /// Something else is there.
    fn differs(&self) -> bool {
        let Ok(there) = fs::symlink_metadata(&self.to) else {
            return false;
        };
        if let TreeKind::Link(way) = &self.item.kind {
            return !fs::read_link(&self.to).is_ok_and(|there| there == *way);
        }
        let same = |there: Vec<u8>| self.bytes().is_ok_and(|bytes| bytes == there);
        !(there.is_file() && fs::read(&self.to).is_ok_and(same))
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        match self.changed {
            Some(file) => Ok(file.after.as_bytes().to_vec()),
            None => fs::read(&self.item.path),
        }
    }

    fn write(&self) -> Result<(), String> {
        self.written().map_err(|error| reason(&error))
    }

    fn written(&self) -> io::Result<()> {
        let folder = self.to.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder)?;
        if let TreeKind::Link(way) = &self.item.kind {
            if self.differs() {
                unlink(&self.to)?;
            } else if fs::symlink_metadata(&self.to).is_ok() {
                return Ok(());
            }
            return link(way, &self.to);
        }
        let permissions = fs::metadata(&self.item.path)?.permissions();
        replace(folder, &self.to, &self.bytes()?, Like::Copy(&permissions))
    }
}

#[cfg(unix)]
fn link(way: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(way, at)
}

#[cfg(unix)]
fn unlink(link: &Path) -> io::Result<()> {
    fs::remove_file(link)
}

/// Links to folders are removed like folders on Windows, other files like files.
#[cfg(windows)]
fn unlink(link: &Path) -> io::Result<()> {
    use std::os::windows::fs::FileTypeExt as _;
    if fs::symlink_metadata(link)?.file_type().is_symlink_dir() {
        fs::remove_dir(link)
    } else {
        fs::remove_file(link)
    }
}

#[cfg(windows)]
fn link(way: &Path, at: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(way, at)
}

/// What earlier runs have copied, relative to the folder, with `/`.
struct List(BTreeSet<String>);

impl List {
    fn read(directory: &Path) -> Self {
        let text = read_text(&directory.join(LIST)).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(str::to_owned).collect())
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        let mut text = format!("{HEADER}\n");
        for path in &self.0 {
            text.push_str(path);
            text.push('\n');
        }
        replace(directory, &directory.join(LIST), text.as_bytes(), Like::New)
    }
}

fn slashed(path: &Path) -> String {
    let parts = path.components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}
