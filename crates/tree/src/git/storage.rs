//! Where a repository stores what git reads.

use std::path::{Path, PathBuf};

use super::names::path_of;
use crate::filesystem::canonical;

/// What the folder that all working trees share contains in addition to objects. Each may be a link.
const STORED: [&str; 4] = ["HEAD", "config", "packed-refs", "refs"];

/// The file that lists folders with more objects, one per line.
const ALTERNATES: &str = "info/alternates";

/// Returns the resolved paths from which git reads in the folder that all working trees share: the names of revisions, and
/// the objects, also those of other repositories that this one borrows.
pub(super) fn locations(common: &Path) -> Vec<PathBuf> {
    let stored = STORED.iter().map(|name| common.join(name));
    let mut locations: Vec<PathBuf> = stored.filter_map(|path| canonical(&path).ok()).collect();
    let mut folders = vec![resolved(&common.join("objects"))];
    let mut next = 0;
    while let Some(objects) = folders.get(next).cloned() {
        next += 1;
        for folder in [objects.clone(), objects.join("pack")] {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            locations.push(resolved(&folder));
            locations.extend(entries.filter_map(|entry| canonical(&entry.path()).ok()));
        }
        let listed = std::fs::read(objects.join(ALTERNATES)).unwrap_or_default();
        let lines = listed.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
            let folder = resolved(&objects.join(path_of(line)));
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    locations
}

/// Returns the path without links; the path itself if it does not exist, or if git quotes it.
fn resolved(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|_| path.to_path_buf())
}
