//! A set of files after the contents of some files have changed, without reading the other files again.
//!
//! Changes of a kustomization that only change fields of objects.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::classify::is_kustomization;
use super::limits::{PARSED_VALUES, ValueCount};
use super::model::document::Fault;
use super::model::file::SourceFile;
use super::model::set::SourceSet;
use super::origin::{finds_origin, may_have_origin, may_name_origin};
use super::read::take_text;
use crate::filesystem::FileSystem;

/// The maximum size of a text in bytes. A larger one may exceed a limit of a run.
const LARGEST: usize = 1 << 20;

impl SourceSet {
    /// Returns this set after the files at these resolved paths have changed, with the same result as reading all files
    /// again.
    ///
    /// Returns `None` if more than the changed files may have to be read again: a path is not in the set or was read in an
    /// unusual way, or the content of a file determines which files are read or how others are used.
    #[must_use]
    pub fn with_changed_contents(&self, paths: &[PathBuf], files: &FileSystem) -> Option<Self> {
        let is_left_out = |file: &SourceFile| matches!(file.fault, Some(Fault::TooLarge { .. }));
        if self.files.iter().any(is_left_out) {
            return None;
        }
        let count = ValueCount::new(PARSED_VALUES);
        let mut changed = Vec::new();
        for at in self.positions(paths)? {
            let before = self.files.get(at)?;
            let after = is_self_contained(before).then(|| read_again(before, files, &count))??;
            // The chart of a file that `helm template` has written is often elsewhere.
            if !is_self_contained(&after) || finds_origin(&after, files) {
                return None;
            }
            if after.text != before.text {
                changed.push((at, after));
            }
        }
        let mut rendered = self.files.iter().filter(|file| may_be_rendered(file));
        if rendered.any(|file| changed.iter().any(|(_, changed)| may_name(file, changed))) {
            return None;
        }
        let mut set = self.clone();
        for (at, file) in changed {
            *set.files.get_mut(at)? = file;
        }
        Some(set)
    }

    /// Returns the positions of the files with these resolved paths; `None` if a path does not belong to exactly one file.
    fn positions(&self, paths: &[PathBuf]) -> Option<Vec<usize>> {
        let wanted = paths.iter().map(|path| (path.as_os_str(), None));
        let mut found: HashMap<&OsStr, Option<usize>> = wanted.collect();
        for (at, file) in self.files.iter().enumerate() {
            let real = file.real.as_deref().map(Path::as_os_str);
            if let Some(known) = real.and_then(|real| found.get_mut(real))
                && known.replace(at).is_some()
            {
                return None;
            }
        }
        let positions = paths.iter().map(|path| *found.get(path.as_os_str())?);
        positions.collect()
    }
}

/// Returns whether the content of a file has no effect on which files are read, and on how other files are used.
fn is_self_contained(file: &SourceFile) -> bool {
    let text = &*file.text;
    let is_ordinary = file.location.is_some()
        && file.fault.is_none()
        && !file.is_linked()
        && !file.documents.is_empty()
        && text.len() <= LARGEST;
    let name = file.path.rsplit('/').next().unwrap_or_default();
    // A file that starts with `#!` may be a script that generates an entry of a kustomization.
    is_ordinary
        && !name.starts_with('.')
        && !text.starts_with("#!")
        && name != "Chart.yaml"
        && !is_kustomization(&file.path)
        && !file.rendered
        && !file.has_origins()
        && !["fluxcd.io/", "argoproj.io/"]
            .iter()
            .any(|group| text.contains(group))
}

/// Returns whether the objects of a file may come from other files, on whose contents their origins depend.
fn may_be_rendered(file: &SourceFile) -> bool {
    file.rendered || may_have_origin(&file.text)
}

/// Returns whether a rendered file may name another one as the origin of an object.
fn may_name(rendered: &SourceFile, file: &SourceFile) -> bool {
    // The second build of a kustomization records origins outside of the text.
    rendered.rendered || may_name_origin(&rendered.text, &file.path)
}

/// Reads and parses a file again; `None` if it cannot be read.
fn read_again(before: &SourceFile, files: &FileSystem, count: &ValueCount) -> Option<SourceFile> {
    let bytes = files.read_resolved(before.real.as_deref()?).ok()?;
    let mut file = before.replace_text("".into());
    file.documents = Vec::new();
    take_text(&mut file, Cow::Owned(bytes), files, count);
    // A kustomization determines which files are patches.
    file.set_patch(before.documents.iter().any(|document| document.patch));
    Some(file)
}
