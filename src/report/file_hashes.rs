//! The hashes by which code scanning recognizes a line of a file.

use std::collections::BTreeMap;

use meshprobe_tree::source::SourceSet;

use super::line_hash::line_hashes;

/// The hashes of the lines of files, computed once per file.
pub(super) struct FileHashes<'a> {
    set: &'a SourceSet,
    known: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> FileHashes<'a> {
    pub(super) const fn new(set: &'a SourceSet) -> Self {
        Self {
            set,
            known: BTreeMap::new(),
        }
    }

    /// Returns the hash of a line, which counts from 1. Returns `None` for text that is not a complete file on disk,
    /// because the upload action would compute another hash.
    pub(super) fn get(&mut self, path: &str, line: usize) -> Option<&str> {
        let file = self.set.file(path)?;
        if file.location.is_none() || file.fault.is_some() {
            return None;
        }
        let hashes = self
            .known
            .entry(&file.path)
            .or_insert_with(|| line_hashes(&file.text));
        hashes.get(line.checked_sub(1)?).map(String::as_str)
    }
}
