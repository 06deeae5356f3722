//! Copies a tree with its changed files to another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filesystem::{Kind, open_file};
use crate::source::{
    Input, Request, TrackedFiles, TreeItem, TreeKind, canonical, escaped_name, io_error_reason,
    read_open, shown_path, tracked_with, tree_items,
};

use crate::engine::changed::Changed;
use crate::engine::file_content::FileContent;
use crate::engine::output_folder::OutputFolder;
use crate::engine::replace::{FileAttributes, replace};
use crate::engine::write::WriteFailure;

/// The file in a copy that lists the copied files, which the next copy may overwrite.
const LIST: &str = ".meshprobe-copy";

/// The first line of that file.
const HEADER: &str =
    "# Copied by `meshprobe rewrite -o`, which overwrites these files in the next run.";

/// The result of a copy.
#[derive(Debug, Default)]
pub struct TreeCopy {
    /// How many files and links were written.
    pub files: usize,
    /// The files and links that could not be read or written.
    pub failures: Vec<WriteFailure>,
    /// The items that are not copied: dangling links, links that lead out of the repository, pipes and devices.
    pub skipped: Vec<WriteFailure>,
    /// The changed files that are not in the copy, by the path that is shown to the user.
    pub unwritten: BTreeSet<Arc<str>>,
}

/// An item of the tree that is copied.
struct Copy<'c> {
    item: TreeItem,
    changed: Option<&'c Changed>,
}

/// The reason why a tree is not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyError {
    /// The copy would overwrite this file of the tree, as shown to the user.
    OverwritesInput(Arc<str>),
    /// The output folder cannot take the copy; the reason.
    Rejected(String),
}

/// Copies every file below the targets of `request` to `directory`, and `changed` files with their new text.
///
/// Paths are kept relative to the folder that contains all targets. Permissions are kept. Links to files become files. A
/// link to a folder stays a link if that folder is copied; otherwise it becomes a folder. Files below `directory` itself
/// are not copied. Each file is written completely or not at all, and never through a link in `directory`.
///
/// # Errors
/// A copy would overwrite a file of the tree, or a file that is not a copy of an earlier run; `directory` is behind a link
/// of the repository that leads out of it; a link is in the path of a copy. Nothing is then written.
pub fn copy_tree(
    request: &Request,
    changed: &[Changed],
    directory: &Path,
) -> Result<TreeCopy, CopyError> {
    let directory = request.working_directory.join(directory);
    let shown = |path: &Path| Arc::from(shown_path(path, &request.working_directory));
    let output = OutputFolder::find(&directory).map_err(|link| {
        let link: Arc<str> = shown(&link);
        CopyError::Rejected(format!("the link `{link}` leads out of the repository"))
    })?;
    let top = output.place(Path::new(""));
    let existing = top.ancestors().find(|above| above.exists());
    if let Some(file) = existing.filter(|existing| !existing.is_dir()) {
        let file: Arc<str> = shown(file);
        return Err(CopyError::Rejected(format!("`{file}` is not a folder")));
    }
    let texts: BTreeMap<PathBuf, &Changed> = changed
        .iter()
        .filter_map(|file| Some((file.location.clone()?, file)))
        .collect();
    let mut done = TreeCopy::default();
    let mut copies = Vec::new();
    let items = tree_items(request).into_iter();
    for item in items.filter(|item| !is_earlier_copy(request, &directory, &item.path)) {
        let failure = |reason: &String| WriteFailure {
            path: shown(&item.path),
            reason: reason.clone(),
        };
        match &item.kind {
            TreeKind::Dangling(reason) => done.skipped.push(failure(reason)),
            TreeKind::Fault(reason) => done.failures.push(failure(reason)),
            TreeKind::File(identity) => copies.push(Copy {
                changed: texts.get(identity).copied(),
                item,
            }),
            TreeKind::Link(_) => copies.push(Copy {
                changed: None,
                item,
            }),
        }
    }
    copies.retain(|copy| copy.item.below != Path::new(LIST));
    let mut list = List::read(&output);
    reject_overwrites(&copies, &output, &list).map_err(|(below, conflict)| {
        let path: Arc<str> = shown(&directory.join(below));
        match conflict {
            Conflict::Input => CopyError::OverwritesInput(path),
            Conflict::Existing(problem) => CopyError::Rejected(format!("`{path}` {problem}")),
        }
    })?;
    // Links are written last, so that no file is written through them.
    copies.sort_by_key(|copy| matches!(copy.item.kind, TreeKind::Link(_)));
    let mut written = BTreeSet::new();
    for copy in &copies {
        match copy.write(&output) {
            Ok(()) => {
                done.files += 1;
                list.copied.insert(slashed(&copy.item.below));
                written.extend(copy.changed.map(|file| Arc::clone(&file.path)));
            }
            Err(reason) => {
                let path = shown(&directory.join(&copy.item.below));
                done.failures.push(WriteFailure { path, reason });
            }
        }
    }
    done.unwritten = changed
        .iter()
        .filter(|file| file.location.is_some() && !written.contains(&file.path))
        .map(|file| Arc::clone(&file.path))
        .collect();
    if done.files > 0
        && let Err(error) = list.write(&output)
    {
        let path = shown(&directory.join(LIST));
        let reason = io_error_reason(&error);
        done.failures.push(WriteFailure { path, reason });
    }
    Ok(done)
}

/// The reason why a copy must not be written.
enum Conflict {
    /// The copy would overwrite a file of the tree.
    Input,
    /// The problem of the path: an existing file, or an error of the system.
    Existing(String),
}

/// Checks that no copy overwrites another file.
///
/// # Errors
/// The path of a copy within the output folder, and why it must not be written.
fn reject_overwrites<'c>(
    copies: &'c [Copy<'_>],
    output: &OutputFolder,
    list: &List,
) -> Result<(), (&'c Path, Conflict)> {
    let sources: BTreeSet<&PathBuf> = copies
        .iter()
        .filter_map(|copy| match &copy.item.kind {
            TreeKind::File(identity) => Some(identity),
            _ => None,
        })
        .collect();
    for copy in copies {
        let below = copy.item.below.as_path();
        if sources.contains(&output.place(below)) {
            return Err((below, Conflict::Input));
        }
        let existing = output.kind(below).map_err(|error| {
            let problem = format!("cannot be written: {}", io_error_reason(&error));
            (below, Conflict::Existing(problem))
        })?;
        let differs = existing.is_some_and(|kind| copy.differs(output, kind));
        if differs && let Some(problem) = list.refuses(below) {
            return Err((below, Conflict::Existing(problem.to_owned())));
        }
    }
    Ok(())
}

/// Returns whether `path` is a copy of an earlier run: it is in `directory`, and no target of the run is.
#[must_use]
pub fn is_earlier_copy(request: &Request, directory: &Path, path: &Path) -> bool {
    let Ok(directory) = canonical(&request.working_directory.join(directory)) else {
        return false;
    };
    let is_named = request.targets.iter().any(|target| match target {
        Input::Path(named) | Input::Resolved(named) => {
            let named = canonical(&request.working_directory.join(named));
            named.is_ok_and(|named| named.starts_with(&directory))
        }
        Input::Bytes { .. } | Input::Rendered(_) => false,
    });
    let parent = path.parent().and_then(|parent| canonical(parent).ok());
    !is_named && parent.is_some_and(|parent| parent.starts_with(&directory))
}

impl Copy<'_> {
    /// Returns whether the existing entry, of kind `existing`, differs from the copy.
    fn differs(&self, output: &OutputFolder, existing: Kind) -> bool {
        let below = &self.item.below;
        if let TreeKind::Link(target) = &self.item.kind {
            return !output
                .read_link(below)
                .is_ok_and(|existing| existing == *target);
        }
        let is_same = || self.content()?.is_in(&output.open_file(below)?);
        !(existing == Kind::File && is_same().unwrap_or(false))
    }

    fn content(&self) -> io::Result<FileContent<'_>> {
        match (self.changed, &self.item.kind) {
            (Some(file), _) => Ok(FileContent::Bytes(file.after.as_bytes())),
            (None, TreeKind::File(real)) => open_file(real).map(FileContent::File),
            (None, _) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn write(&self, output: &OutputFolder) -> Result<(), String> {
        self.try_write(output)
            .map_err(|error| io_error_reason(&error))
    }

    fn try_write(&self, output: &OutputFolder) -> io::Result<()> {
        let (folder, name) = output.folder_of(&self.item.below)?;
        match &self.item.kind {
            TreeKind::Link(target) => {
                match folder.kind(&name)? {
                    Some(kind) if self.differs(output, kind) => folder.remove(&name)?,
                    Some(_) => return Ok(()),
                    None => {}
                }
                folder.link(target, &name)
            }
            TreeKind::File(real) => {
                let permissions = open_file(real)?.metadata()?.permissions();
                replace(
                    &folder,
                    &name,
                    &self.content()?,
                    FileAttributes::Copy(&permissions),
                )
            }
            TreeKind::Dangling(_) | TreeKind::Fault(_) => Ok(()),
        }
    }
}

/// The list of the files that earlier runs have copied.
struct List {
    /// Paths relative to the folder, with `/`.
    copied: BTreeSet<String>,
    /// The files that git tracks, if it tracks the list. Such a list comes from the repository, and allows to overwrite
    /// only files that also come from it.
    tracked: Option<(PathBuf, TrackedFiles)>,
    /// The resolved path of the folder.
    folder: PathBuf,
}

impl List {
    fn read(output: &OutputFolder) -> Self {
        let bytes = output.open_file(Path::new(LIST)).and_then(read_open);
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            copied: lines.map(str::to_owned).collect(),
            tracked: tracked_with(&output.place(Path::new(LIST))),
            folder: output.place(Path::new("")),
        }
    }

    /// Returns why an existing file that differs from its copy must not be overwritten; `None` if it may.
    fn refuses(&self, below: &Path) -> Option<&'static str> {
        if !self.copied.contains(&slashed(below)) {
            return Some(
                "already exists, and is not a copy of an earlier run; remove it or use another \
                 folder",
            );
        }
        let (root, tracked) = self.tracked.as_ref()?;
        let place = self.folder.join(below);
        let is_tracked = place
            .strip_prefix(root)
            .is_ok_and(|path| tracked.contains(path));
        (!is_tracked).then_some(
            "already exists, and only a list that git tracks contains it; remove it, add it to \
             git, or use another folder",
        )
    }

    fn write(&self, output: &OutputFolder) -> io::Result<()> {
        let mut text = format!("{HEADER}\n");
        for path in &self.copied {
            text.push_str(path);
            text.push('\n');
        }
        let (folder, name) = output.folder_of(Path::new(LIST))?;
        replace(
            &folder,
            &name,
            &FileContent::Bytes(text.as_bytes()),
            FileAttributes::New,
        )
    }
}

/// Returns a path as a line of the list. Different paths have different lines, and no line is a comment.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .map(|part| escaped_name(part.as_os_str()))
        .collect();
    let line = parts
        .join("/")
        .replace('\n', "\\x0a")
        .replace('\r', "\\x0d");
    match line.strip_prefix('#') {
        Some(rest) => format!("\\x23{rest}"),
        None => line,
    }
}
