//! Ignore files that are no files of text: a pipe, a device, something huge.
//!
//! The library that walks for us opens whatever bears one of their names and reads it to its end,
//! which a link to `/dev/zero` does not have.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::walk::{Met, special};

/// The ignore files of a folder.
const NAMES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// What is larger was not written by anybody: bytes.
const LIMIT: u64 = 4 << 20;

/// Returns the first ignore file of a folder that must not be opened, and why.
pub(super) fn unusable_in(folder: &Path) -> Option<(PathBuf, String)> {
    NAMES.iter().find_map(|name| {
        let path = folder.join(name);
        let metadata = std::fs::metadata(&path).ok()?;
        let what = special(metadata.file_type());
        let what = what.or((metadata.len() > LIMIT).then_some("larger than 4 MiB"))?;
        Some((path, format!("it is {what}, so nothing is hidden by it")))
    })
}

/// The folders of a walk whose ignore files must not be opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Unusable(Arc<Mutex<Vec<(PathBuf, Met)>>>);

impl Unusable {
    /// Tells whether the ignore files of a folder may be opened; keeps it in mind where not.
    pub(super) fn may_enter(&self, folder: &Path) -> bool {
        let Some((path, reason)) = unusable_in(folder) else {
            return true;
        };
        if let Ok(mut kept) = self.0.lock() {
            kept.push((folder.to_path_buf(), Met::Unopened(path, reason)));
        }
        false
    }

    /// Returns the folders that were kept out, each with what to tell of it.
    pub(super) fn taken(&self) -> Vec<(PathBuf, Met)> {
        let mut kept = self.0.lock();
        kept.as_mut()
            .map(|kept| std::mem::take(&mut **kept))
            .unwrap_or_default()
    }
}
