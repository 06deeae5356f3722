//! Reads files, and never more of one than a manifest can be.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::filesystem;

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
        return Err(too_large());
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

/// Reads an open file to its end.
///
/// # Errors
/// As [`read_file`].
pub fn read_open(file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > LIMIT {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or_default())?;
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large());
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

/// Reads the regular file of text at a resolved path.
///
/// # Errors
/// As [`read_resolved`]; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_resolved_text(path: &Path) -> io::Result<String> {
    text(read_resolved(path)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Returns whether there is a regular file of a size that someone may have written.
pub(super) fn is_ordinary(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= ORDINARY)
}

fn too_large() -> io::Error {
    let said = format!("it is larger than {} MiB", LIMIT >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, said)
}
