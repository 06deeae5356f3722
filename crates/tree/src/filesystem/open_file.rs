//! Files that are open for reading.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};

/// File that is open for reading, with its length.
#[derive(Debug)]
pub struct OpenFile {
    length: u64,
    content: Content,
}

/// The bytes of a file, which are not read yet.
enum Content {
    Disk(File),
    Stored(Box<dyn FnOnce() -> io::Result<Vec<u8>> + Send>),
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(file) => file.fmt(formatter),
            Self::Stored(_) => formatter.write_str("Stored"),
        }
    }
}

impl OpenFile {
    /// Wraps an open file of the disk.
    ///
    /// # Errors
    /// The error of the system, if the length cannot be determined.
    pub fn on_disk(file: File) -> io::Result<Self> {
        Ok(Self {
            length: file.metadata()?.len(),
            content: Content::Disk(file),
        })
    }

    /// Creates a file of `length` bytes, which `read` reads.
    pub fn stored(
        length: u64,
        read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self {
            length,
            content: Content::Stored(Box::new(read)),
        }
    }

    /// Returns the length in bytes; 0 for a pipe or a device.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Reads the file to its end, but at most `limit` bytes.
    ///
    /// # Errors
    /// The error of the system.
    pub fn read(self, limit: u64) -> io::Result<Vec<u8>> {
        match self.content {
            Content::Disk(file) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(usize::try_from(self.length).unwrap_or_default())?;
                file.take(limit).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            Content::Stored(read) => {
                let mut bytes = read()?;
                bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                Ok(bytes)
            }
        }
    }
}
