//! Reads files up to a maximum size of manifests.
//!
//! Decoding of the bytes of a file to text.
//!
//! Reasons of failed operations on files.

use std::borrow::Cow;
use std::io;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::classify::{is_kustomization, looks_like_kubernetes};
use super::limits::{FILE_SIZE, STREAM_SIZE, ValueCount};
use super::model::document::Fault;
use super::model::file::SourceFile;
use crate::filesystem::{FileSystem, OpenFile};

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

/// Sets the text of a file, parses it, and adds its values to `count`. Sets the fault of the file if the text is not UTF-8
/// or exceeds a limit.
pub(super) fn take_text(
    file: &mut SourceFile,
    bytes: Cow<'_, [u8]>,
    files: &FileSystem,
    count: &ValueCount,
) {
    (file.text, file.fault) = decode(&bytes);
    drop(bytes);
    file.chart_template = text_is_template(&file.text, file.disk_path.as_deref(), files);
    match &mut file.fault {
        Some(Fault::NotUtf8 { kubernetes }) => *kubernetes |= is_kustomization(&file.path),
        _ => file.parse_within(count),
    }
}

/// Returns whether a file is a template of a Helm chart. It is one even if it parses as YAML.
pub(super) fn text_is_template(text: &str, disk_path: Option<&Path>, files: &FileSystem) -> bool {
    text.contains("{{") && disk_path.is_some_and(|path| files.is_in_chart(path))
}

/// Decodes the bytes of a file, up to the first that is not UTF-8.
pub(super) fn decode(bytes: &[u8]) -> (Arc<str>, Option<Fault>) {
    match str::from_utf8(bytes) {
        Ok(text) => (text.into(), None),
        Err(error) => {
            let kubernetes = looks_like_kubernetes(&strip_utf16_zeros(bytes));
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let text = str::from_utf8(valid).unwrap_or_default();
            (text.into(), Some(Fault::NotUtf8 { kubernetes }))
        }
    }
}

/// Removes the zero bytes of UTF-16, which is sufficient to recognize a manifest.
pub(super) fn strip_utf16_zeros(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xff, 0xfe, text @ ..] | [0xfe, 0xff, text @ ..] => {
            text.iter().copied().filter(|byte| *byte != 0).collect()
        }
        _ => Cow::Borrowed(bytes),
    }
}

/// Reason why a path that does not exist cannot be read.
pub const NO_SUCH_FILE: &str = "no such file or directory";

/// Returns the reason why an operation on a file failed, without error numbers and the paths of temporary files.
#[must_use]
pub fn io_error_reason(error: &io::Error) -> String {
    let message = error.to_string();
    // Only errors of the system have a number.
    match (error.kind(), message.split_once(" (os error")) {
        (io::ErrorKind::NotFound, _) => NO_SUCH_FILE.to_owned(),
        (io::ErrorKind::PermissionDenied, Some(_)) => "permission denied".to_owned(),
        (_, Some((words, _))) => words.to_owned(),
        (_, None) => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_up_to_the_first_invalid_byte() {
        let (text, fault) = decode(b"apiVersion: v1\nkind: Pod\nx: \xff\n");
        assert_eq!(&*text, "apiVersion: v1\nkind: Pod\nx: ");
        assert_eq!(fault, Some(Fault::NotUtf8 { kubernetes: true }));
    }
}
