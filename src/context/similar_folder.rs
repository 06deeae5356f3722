//! Suggestions for the path of a folder that is not in the tree.

use std::collections::BTreeSet;

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

/// Returns the folder with files below `root` whose path ends most like the parts of a missing folder; of several, the
/// nearest one to the file `user`. `None` if no folder is similar.
pub(super) fn similar_folder(
    sources: &SourceSet,
    missing: &[&str],
    root: &str,
    user: &str,
) -> Option<String> {
    let wanted = missing.join("/");
    let limit = missing.last()?.len() / 4 + 1;
    let files = sources.files.iter().filter(|file| file.location.is_some());
    let folders: BTreeSet<&str> = files
        .flat_map(|file| above(paths::folder(&file.path)))
        .filter(|folder| paths::is_within(folder, root))
        .collect();
    let distance = |folder: &str| {
        let parts: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
        let end = parts
            .get(parts.len().checked_sub(missing.len())?..)?
            .join("/");
        let is_close = end.len().abs_diff(wanted.len()) <= limit;
        is_close.then(|| strsim::osa_distance(&end, &wanted))
    };
    folders
        .into_iter()
        .filter_map(|folder| Some((distance(folder)?, folder)))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, folder)| (*distance, std::cmp::Reverse(nearness(folder, user))))
        .map(|(_, folder)| folder.trim_end_matches('/').to_owned())
}

/// Iterates over a folder and the folders above it, except for those that end in `..`; each with `/` at its end.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    let ends = folder.match_indices('/').map(|(at, _)| at + 1);
    let folders = ends.filter_map(|end| folder.get(..end));
    folders.filter(|folder| !folder.ends_with("../") && *folder != "/")
}
