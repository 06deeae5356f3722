//! Suggestions for the path of a folder that is not in the tree.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::kube::nearness;
use crate::source::{SourceSet, paths};

/// Returns what contains the folders that the objects of a file deploy: the repository, or the files that were read.
#[must_use]
pub fn tree_noun(sources: &SourceSet, file: &str) -> &'static str {
    let repository = sources.file(file).and_then(|file| file.repository.as_ref());
    match repository {
        Some(_) => "this repository",
        None => "the tree",
    }
}

/// The maximum number of folders with one name that are compared with a missing folder.
const COMPARED: usize = 128;

/// The maximum number of names that a run compares: where so many folders are missing, a typing error is unlikely.
const COMPARED_NAMES: usize = 50_000;

/// The folders with files of a run, by the last part of their path. Built for the first missing folder.
pub(super) struct FolderIndex<'s> {
    sources: &'s SourceSet,
    by_last: OnceCell<BTreeMap<&'s str, BTreeSet<&'s str>>>,
    compared: Cell<usize>,
}

impl<'s> FolderIndex<'s> {
    pub(super) const fn new(sources: &'s SourceSet) -> Self {
        Self {
            sources,
            by_last: OnceCell::new(),
            compared: Cell::new(0),
        }
    }

    fn by_last(&self) -> &BTreeMap<&'s str, BTreeSet<&'s str>> {
        self.by_last.get_or_init(|| {
            let files = self.sources.files.iter();
            let files = files.filter(|file| file.location.is_some());
            let homes: BTreeSet<&str> = files.map(|file| paths::folder(&file.path)).collect();
            let mut by_last: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for folder in homes.into_iter().flat_map(above) {
                by_last.entry(last_part(folder)).or_default().insert(folder);
            }
            by_last
        })
    }

    /// Returns the folder with files below `root` whose path ends most like the parts of a missing folder; of several,
    /// the nearest one to the file `user`. `None` if no folder is similar, or after too many
    /// comparisons.
    pub(super) fn similar(&self, missing: &[&str], root: &str, user: &str) -> Option<String> {
        let compared = self.compared.get() + self.by_last().len();
        if compared > COMPARED_NAMES {
            return None;
        }
        self.compared.set(compared);
        let wanted = missing.join("/");
        let wanted_last = missing.last()?;
        let expected = self.sources.joined(root, &wanted);
        let limit = wanted_last.len() / 4 + 1;
        // The last parts are compared first, because many folders share them.
        let similar_last = self.by_last().iter().filter(|(last, _)| {
            last.len().abs_diff(wanted_last.len()) <= limit
                && strsim::osa_distance(last, wanted_last) <= limit
        });
        let distance = |folder: &str| {
            let parts: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
            let end = parts
                .get(parts.len().checked_sub(missing.len())?..)?
                .join("/");
            let is_close = end.len().abs_diff(wanted.len()) <= limit;
            is_close.then(|| strsim::osa_distance(&end, &wanted))
        };
        similar_last
            .flat_map(|(_, folders)| candidates(folders, [&expected, user]))
            .filter(|folder| paths::is_within(folder, root))
            .filter_map(|folder| Some((distance(folder)?, *folder)))
            .filter(|(distance, _)| *distance <= limit)
            .min_by_key(|(distance, folder)| {
                (
                    *distance,
                    std::cmp::Reverse(nearness(folder, user)),
                    *folder,
                )
            })
            .map(|(_, folder)| folder.trim_end_matches('/').to_owned())
    }
}

/// Returns the folders that are compared with a missing one: all of them, or those next to the given paths if there are
/// many. Folders with the same beginning are next to each other.
fn candidates<'f, 's>(folders: &'f BTreeSet<&'s str>, near: [&str; 2]) -> Vec<&'f &'s str> {
    if folders.len() <= COMPARED {
        return folders.iter().collect();
    }
    let each = COMPARED / 4;
    let mut found: Vec<&&str> = Vec::with_capacity(COMPARED);
    for path in near {
        let below = (Bound::Unbounded, Bound::Excluded(path));
        let above = (Bound::Included(path), Bound::Unbounded);
        found.extend(folders.range::<str, _>(below).rev().take(each));
        found.extend(folders.range::<str, _>(above).take(each));
    }
    found
}

/// Returns the last part of a folder with `/` at its end.
fn last_part(folder: &str) -> &str {
    let folder = folder.trim_end_matches('/');
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Iterates over a folder and the folders above it, except for those that end in `..`; each with `/` at its end.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    let ends = folder.match_indices('/').map(|(at, _)| at + 1);
    let folders = ends.filter_map(|end| folder.get(..end));
    folders.filter(|folder| !folder.ends_with("../") && *folder != "/")
}
