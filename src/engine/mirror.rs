//! Copies a tree with its changed files to another folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::filesystem::{Kind, open_file};
use crate::source::{
    Input, Request, TrackedFiles, TreeItem, TreeKind, canonical, escaped_name, read_open, reason,
    shown_path, tracked_with, tree_items,
};

use super::changed::Changed;
use super::data::Data;
use super::output_folder::OutputFolder;
use super::replace::{Like, replace};
use super::write::WriteFailure;

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
    changed: Option<&'c Changed>,
}

/// Copies every file below the targets of `request` into `directory`, `changed` ones with their
/// new text. Places are kept relative to the folder that holds all targets; permissions are kept,
/// links to files become files. A link to a folder stays a link where that folder is copied, else
/// it becomes a folder. What lies below `directory` itself is left out. Each file is written whole
/// or not at all, and never through a link that is in `directory`.
///
/// # Errors
/// In words, before anything is written, where a copy would take the place of a file of the tree,
/// or of another file that is not a copy of an earlier run; where a link of the repository leads
/// `directory` out of it, or a link is in the way of a copy.
pub fn mirror_all(
    request: &Request,
    changed: &[Changed],
    directory: &Path,
) -> Result<Mirror, String> {
    let directory = request.working_directory.join(directory);
    let shown = |path: &Path| Arc::from(shown_path(path, &request.working_directory));
    let output = OutputFolder::find(&directory).map_err(|link| {
        let link: Arc<str> = shown(&link);
        format!("the link {link} leads out of the repository")
    })?;
    let top = output.place(Path::new(""));
    let existing = top.ancestors().find(|above| above.exists());
    if let Some(file) = existing.filter(|existing| !existing.is_dir()) {
        let file: Arc<str> = shown(file);
        return Err(format!("{file} is no folder"));
    }
    let texts: BTreeMap<PathBuf, &Changed> = changed
        .iter()
        .filter_map(|file| Some((file.location.clone()?, file)))
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
    refuse(&copies, &output, &list).map_err(|(below, why)| {
        let place: Arc<str> = shown(&directory.join(below));
        format!("{place} {why}")
    })?;
    // Links come last: nothing is written through them.
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
    let on_disk = changed.iter().filter(|file| file.location.is_some());
    let lost = on_disk.filter(|file| !written.contains(&file.path));
    done.lost = lost.map(|file| Arc::clone(&file.path)).collect();
    if done.files > 0
        && let Err(error) = list.write(&output)
    {
        let path = shown(&directory.join(LIST));
        let reason = reason(&error);
        done.failures.push(WriteFailure { path, reason });
    }
    Ok(done)
}

/// Names a copy that must not be written, by its place in the output folder, and why.
fn refuse<'c>(
    copies: &'c [Copy<'_>],
    output: &OutputFolder,
    list: &List,
) -> Result<(), (&'c Path, String)> {
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
            return Err((below, "is a file of the tree itself".to_owned()));
        }
        let there = match output.kind(below) {
            Ok(there) => there,
            Err(error) => return Err((below, format!("cannot be written: {}", reason(&error)))),
        };
        let differs = there.is_some_and(|kind| copy.differs(output, kind));
        if differs && let Some(why) = list.refuses(below) {
            return Err((below, why.to_owned()));
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
    /// Returns whether something else is there.
    fn differs(&self, output: &OutputFolder, there: Kind) -> bool {
        let below = &self.item.below;
        if let TreeKind::Link(way) = &self.item.kind {
            return !output.read_link(below).is_ok_and(|there| there == *way);
        }
        let is_same = || self.data()?.is_in(&output.open_file(below)?);
        !(there == Kind::File && is_same().unwrap_or(false))
    }

    fn data(&self) -> io::Result<Data<'_>> {
        match (self.changed, &self.item.kind) {
            (Some(file), _) => Ok(Data::Bytes(file.after.as_bytes())),
            (None, TreeKind::File(real)) => open_file(real).map(Data::File),
            (None, _) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn write(&self, output: &OutputFolder) -> Result<(), String> {
        self.written(output).map_err(|error| reason(&error))
    }

    fn written(&self, output: &OutputFolder) -> io::Result<()> {
        let (folder, name) = output.folder_of(&self.item.below)?;
        match &self.item.kind {
            TreeKind::Link(way) => {
                match folder.kind(&name)? {
                    Some(kind) if self.differs(output, kind) => folder.remove(&name)?,
                    Some(_) => return Ok(()),
                    None => {}
                }
                folder.link(way, &name)
            }
            TreeKind::File(real) => {
                let permissions = open_file(real)?.metadata()?.permissions();
                replace(&folder, &name, &self.data()?, Like::Copy(&permissions))
            }
            TreeKind::Dangling(_) | TreeKind::Fault(_) => Ok(()),
        }
    }
}

/// What earlier runs have copied.
struct List {
    /// Relative to the folder, with `/`.
    copied: BTreeSet<String>,
    /// What git tracks, where it tracks the list: such a list comes from the repository, and
    /// vouches only for files that come from it, too.
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

    /// Why a file that is there, and differs from its copy, must not be overwritten.
    fn refuses(&self, below: &Path) -> Option<&'static str> {
        if !self.copied.contains(&slashed(below)) {
            return Some(
                "is there already, and is no copy of an earlier run: remove it or take another \
                 folder",
            );
        }
        let (root, tracked) = self.tracked.as_ref()?;
        let place = self.folder.join(below);
        let is_tracked = place
            .strip_prefix(root)
            .is_ok_and(|path| tracked.contains(path));
        (!is_tracked).then_some(
            "is there already, and only a list that git tracks calls it a copy: remove it, add \
             it to git, or take another folder",
        )
    }

    fn write(&self, output: &OutputFolder) -> io::Result<()> {
        let mut text = format!("{HEADER}\n");
        for path in &self.copied {
            text.push_str(path);
            text.push('\n');
        }
        let (folder, name) = output.folder_of(Path::new(LIST))?;
        replace(&folder, &name, &Data::Bytes(text.as_bytes()), Like::New)
    }
}

/// Returns a path as a line of the list: different paths are different lines, and none is a comment.
fn slashed(path: &Path) -> String {
    let parts = path.components();
    let parts: Vec<_> = parts.map(|part| escaped_name(part.as_os_str())).collect();
    let line = parts.join("/");
    let line = line.replace('\n', "\\x0a").replace('\r', "\\x0d");
    match line.strip_prefix('#') {
        Some(rest) => format!("\\x23{rest}"),
        None => line,
    }
}
