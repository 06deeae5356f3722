//! The content of a file that is written: bytes in memory, or another file, which is copied in chunks.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};

/// The size of a chunk, in bytes.
const CHUNK: u64 = 128 << 10;

/// The content of a file that is written.
#[derive(Debug)]
pub(super) enum FileContent<'d> {
    /// Bytes in memory.
    Bytes(&'d [u8]),
    /// The content of another file.
    File(File),
}

impl FileContent<'_> {
    /// Writes the content to an empty file. Long runs of zeros become holes.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn write_to(&self, mut file: &File) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => file.write_all(bytes),
            Self::File(from) => copy(from, file),
        }
    }

    /// Returns whether a file has this content.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        match self {
            Self::Bytes(bytes) => is_same(*bytes, file),
            Self::File(from) => {
                let mut from = from;
                from.rewind()?;
                is_same(from, file)
            }
        }
    }
}

fn copy(mut from: &File, mut to: &File) -> io::Result<()> {
    from.rewind()?;
    let mut chunk = Vec::new();
    let mut length = 0;
    loop {
        let read = next(&mut from, &mut chunk)?;
        if read == 0 {
            return to.set_len(length);
        }
        length += read;
        if chunk.iter().all(|byte| *byte == 0) {
            to.seek(SeekFrom::Start(length))?;
        } else {
            to.write_all(&chunk)?;
        }
    }
}

fn is_same(mut one: impl Read, mut other: impl Read) -> io::Result<bool> {
    let (mut chunk, mut other_chunk) = (Vec::new(), Vec::new());
    loop {
        let read = next(&mut one, &mut chunk)?;
        next(&mut other, &mut other_chunk)?;
        if read == 0 || chunk != other_chunk {
            return Ok(chunk == other_chunk);
        }
    }
}

/// Reads the next chunk, and returns its length, which is 0 only at the end.
fn next(from: impl Read, chunk: &mut Vec<u8>) -> io::Result<u64> {
    chunk.clear();
    let read = from.take(CHUNK).read_to_end(chunk)?;
    Ok(read as u64)
}
