//! Reads files up to a maximum size of manifests.

use std::io::{self, Read};
use std::path::Path;

use crate::filesystem::{FileSystem, OpenFile};

use super::memory_budget::{MemoryBudget, Turn};

/// Maximum size of an input in bytes; larger ones are not manifests.
const LIMIT: u64 = 128 << 20;
/// Maximum size in bytes of a manifest that is written by hand.
const ORDINARY: u64 = 16 << 20;

/// Reads a stream to its end.
///
/// # Errors
/// The error of the stream, or [`io::ErrorKind::FileTooLarge`] for more than 128 MiB. Stops reading after
/// that size.
pub fn read_stream(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(LIMIT));
    }
    Ok(bytes)
}

impl FileSystem {
    /// Reads a file, which may be an endless device.
    ///
    /// # Errors
    /// The errors of [`read_stream`]. A regular file that is too large is not read at all.
    pub fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        read(self.open_following(path)?)
    }

    /// Reads the regular file at a resolved path.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_file`].
    pub fn read_resolved(&self, path: &Path) -> io::Result<Vec<u8>> {
        read(self.open_file(path)?)
    }

    /// Waits for the turn of the regular file at a resolved path and reads it. The turn lasts until it is dropped.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_resolved`].
    pub(super) fn read_in_turn<'b>(
        &self,
        path: &Path,
        budget: &'b MemoryBudget,
    ) -> io::Result<(Vec<u8>, Turn<'b>)> {
        let file = self.open_file(path)?;
        if file.length() > LIMIT {
            return Err(too_large(LIMIT));
        }
        let turn = budget.wait_for_turn(file.length());
        Ok((read(file)?, turn))
    }

    /// Waits for the turn of a file of unknown length and reads it. The turn lasts until it is dropped.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_file`].
    pub(super) fn read_pipe_in_turn<'b>(
        &self,
        path: &Path,
        budget: &'b MemoryBudget,
    ) -> io::Result<(Vec<u8>, Turn<'b>)> {
        let turn = budget.wait_for_turn(LIMIT);
        Ok((self.read_file(path)?, turn))
    }

    /// Reads a text file.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_file`], and [`io::ErrorKind::InvalidData`] for text that is not UTF-8.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        text(self.read_file(path)?)
    }

    /// Reads the regular text file at a resolved path: a configuration or a kustomization of a tree, which is parsed
    /// without a budget.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_resolved`], but with a limit of 16 MiB, and [`io::ErrorKind::InvalidData`] for
    /// text that is not UTF-8.
    pub fn read_resolved_text(&self, path: &Path) -> io::Result<String> {
        let file = self.open_file(path)?;
        if file.length() > ORDINARY {
            return Err(too_large(ORDINARY));
        }
        text(read(file)?)
    }

    /// Returns whether there is a regular file of the size of a manifest that is written by hand.
    pub(super) fn is_regular_small_file(&self, path: &Path) -> bool {
        let length = self.file_length(path);
        length.is_ok_and(|length| length.is_some_and(|length| length <= ORDINARY))
    }
}

/// Reads an open file to its end.
fn read(file: OpenFile) -> io::Result<Vec<u8>> {
    if file.length() > LIMIT {
        return Err(too_large(LIMIT));
    }
    let bytes = file.read(LIMIT + 1)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(LIMIT));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

fn too_large(limit: u64) -> io::Error {
    let message = format!("it is larger than {} MiB", limit >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}
