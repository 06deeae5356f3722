//! Reads files up to a maximum size of manifests.

use std::io::{self, Read};
use std::path::Path;

use crate::filesystem::{FileSystem, OpenFile};

use super::limits::{FILE_SIZE, STREAM_SIZE};

/// Reads a stream to its end.
///
/// # Errors
/// The error of the stream, or [`io::ErrorKind::FileTooLarge`] for more than 128 MiB. Stops reading after
/// that size.
pub fn read_stream(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(STREAM_SIZE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STREAM_SIZE {
        return Err(too_large(STREAM_SIZE));
    }
    Ok(bytes)
}

impl FileSystem {
    /// Reads a file, which may be an endless device.
    ///
    /// # Errors
    /// The errors of the file system, or [`io::ErrorKind::FileTooLarge`] for more than 16 MiB.
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

    /// Reads the start of the regular file at a resolved path, one byte more than a file may have.
    pub(super) fn read_start(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.open_file(path)?.read(FILE_SIZE + 1)
    }

    /// Reads a text file.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_file`], and [`io::ErrorKind::InvalidData`] for text that is not UTF-8.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        text(self.read_file(path)?)
    }

    /// Reads the regular text file at a resolved path.
    ///
    /// # Errors
    /// The errors of [`FileSystem::read_resolved`], and [`io::ErrorKind::InvalidData`] for text that is not UTF-8.
    pub fn read_resolved_text(&self, path: &Path) -> io::Result<String> {
        text(self.read_resolved(path)?)
    }

    /// Returns whether there is a regular file that is not too large.
    pub(super) fn is_regular_small_file(&self, path: &Path) -> bool {
        let length = self.file_length(path);
        length.is_ok_and(|length| length.is_some_and(|length| length <= FILE_SIZE))
    }
}

/// Reads an open file to its end.
fn read(file: OpenFile) -> io::Result<Vec<u8>> {
    if file.length() > FILE_SIZE {
        return Err(too_large(FILE_SIZE));
    }
    let bytes = file.read(FILE_SIZE + 1)?;
    if bytes.len() as u64 > FILE_SIZE {
        return Err(too_large(FILE_SIZE));
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
