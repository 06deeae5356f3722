//! Reads files, and never more of one than a manifest can be.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::filesystem;

use super::memory_budget::{MemoryBudget, Turn};

/// What is larger is no manifest: bytes.
const LIMIT: u64 = 128 << 20;
/// No one wrote a manifest that is larger: bytes.
const ORDINARY: u64 = 16 << 20;

/// Reads a stream to its end.
///
/// # Errors
/// What the stream says; [`io::ErrorKind::FileTooLarge`] for more than 128 MiB, of which no more
/// is read.
pub fn read_stream(stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(LIMIT));
    }
    Ok(bytes)
}

/// Reads a file, a device without end among them.
///
/// # Errors
/// As [`read_stream`]; a file that is too large is not read at all.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_open(File::open(path)?)
}

/// Reads the regular file at a resolved path.
///
/// # Errors
/// As [`read_file`]; an error too where a link was put into the path since it was resolved.
pub fn read_resolved(path: &Path) -> io::Result<Vec<u8>> {
    read_open(filesystem::open_file(path)?)
}

/// Reads the regular file at a resolved path when it is its turn; the turn goes on until it is dropped.
///
/// # Errors
/// As [`read_resolved`].
pub(super) fn read_in_turn<'b>(
    path: &Path,
    budget: &'b MemoryBudget,
) -> io::Result<(Vec<u8>, Turn<'b>)> {
    let file = filesystem::open_file(path)?;
    let length = file.metadata()?.len();
    if length > LIMIT {
        return Err(too_large(LIMIT));
    }
    let turn = budget.wait_for_turn(length);
    Ok((read_open(file)?, turn))
}

/// Reads a file whose length is not known when it is its turn; the turn goes on until it is dropped.
///
/// # Errors
/// As [`read_file`].
pub(super) fn read_pipe_in_turn<'b>(
    path: &Path,
    budget: &'b MemoryBudget,
) -> io::Result<(Vec<u8>, Turn<'b>)> {
    let turn = budget.wait_for_turn(LIMIT);
    Ok((read_file(path)?, turn))
}

/// Reads an open file to its end.
///
/// # Errors
/// As [`read_file`].
pub fn read_open(file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > LIMIT {
        return Err(too_large(LIMIT));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or_default())?;
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(LIMIT));
    }
    Ok(bytes)
}

/// Reads a file of text.
///
/// # Errors
/// As [`read_file`]; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read_file(path)?)
}

/// Reads the regular file of text at a resolved path: a configuration or a kustomization of a tree, which is parsed
/// outside of any budget.
///
/// # Errors
/// As [`read_resolved`], but for more than 16 MiB; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_resolved_text(path: &Path) -> io::Result<String> {
    let file = filesystem::open_file(path)?;
    if file.metadata()?.len() > ORDINARY {
        return Err(too_large(ORDINARY));
    }
    text(read_open(file)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns whether there is a regular file of a size that someone may have written.
pub(super) fn is_ordinary(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= ORDINARY)
}

fn too_large(limit: u64) -> io::Error {
    let message = format!("it is larger than {} MiB", limit >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}
