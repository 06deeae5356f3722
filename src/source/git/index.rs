//! Parser for the index of git: the list of files that it tracks.
//!
//! Source: git 2.47, `Documentation/gitformat-index.txt`; versions 2 to 4, object names of SHA-1
//! and SHA-256, sparse indexes. Split indexes are not supported.

use std::path::{Path, PathBuf};

/// Files that git tracks in a working tree.
#[derive(Debug, Default)]
pub struct TrackedFiles {
    /// The concatenated paths, with `/`; sorted by their bytes.
    names: Vec<u8>,
    /// The end of each path.
    ends: Vec<usize>,
}

/// Length of an entry before the object name: times, device, inode, mode, owner and size.
const STAT: usize = 40;
/// Lengths of an object name: SHA-1 and SHA-256.
const OBJECT_NAMES: [usize; 2] = [20, 32];
/// Bits of the flags with the length of the name; all of them are set for longer names.
const LENGTH: u16 = 0xfff;
/// Bit of the flags that indicates two more bytes of flags.
const EXTENDED: u16 = 0x4000;

impl TrackedFiles {
    /// Parses the bytes of an index.
    ///
    /// # Errors
    /// The reason why they cannot be parsed.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        // The file does not name the hash. With the wrong hash, parsing fails.
        let [sha1, sha256] = OBJECT_NAMES.map(|length| Self::parse_with(bytes, length));
        match (sha1, sha256) {
            (Err(Fault::Damaged), Ok(tracked)) => Ok(tracked),
            (Ok(tracked), _) => Ok(tracked),
            (Err(fault), _) => Err(fault.message()),
        }
    }

    fn parse_with(bytes: &[u8], object_name: usize) -> Result<Self, Fault> {
        let end = bytes.len().checked_sub(object_name).ok_or(Fault::Damaged)?;
        let mut rest = Cursor {
            bytes: bytes.get(..end).unwrap_or_default(),
            at: 0,
        };
        if rest.take(4)? != b"DIRC" {
            return Err(Fault::Damaged);
        }
        let version = rest.number()?;
        if !(2..=4).contains(&version) {
            return Err(Fault::Version(version));
        }
        let count = rest.number()?;
        let mut tracked = Self::default();
        let mut name = Vec::new();
        for _ in 0..count {
            rest.entry(version, object_name, &mut name)?;
            tracked.names.extend_from_slice(&name);
            tracked.ends.push(tracked.names.len());
        }
        rest.extensions()?;
        Ok(tracked)
    }

    /// Returns whether git tracks a file, by its path from the root of the repository.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        let path = slashed(path);
        let at = self.first_not_before(&path);
        self.name(at) == Some(&path)
    }

    /// Iterates over the tracked files in a folder and its subfolders, by its path from the root of
    /// the repository.
    pub fn below(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        let mut prefix = slashed(folder);
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        (self.first_not_before(&prefix)..)
            .map_while(|at| self.name(at))
            .take_while(move |name| name.starts_with(&prefix))
            // A sparse index has entries for whole folders.
            .filter(|name| !name.ends_with(b"/"))
            .map(path_of)
    }

    fn name(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let before = at.checked_sub(1).and_then(|at| self.ends.get(at));
        self.names.get(before.copied().unwrap_or(0)..end)
    }

    fn first_not_before(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle).is_some_and(|name| name < path) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Reason why an index cannot be parsed.
#[derive(Debug)]
enum Fault {
    Damaged,
    Version(u32),
    Split,
    Extension(String),
}

impl Fault {
    fn message(self) -> String {
        match self {
            Self::Damaged => "git's index is damaged".to_owned(),
            Self::Version(version) => format!("git's index has the unknown version {version}"),
            Self::Split => "git's index is split (`core.splitIndex`)".to_owned(),
            Self::Extension(name) => format!("git's index has the unknown extension `{name}`"),
        }
    }
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], Fault> {
        let end = self.at.checked_add(count).ok_or(Fault::Damaged)?;
        let taken = self.bytes.get(self.at..end).ok_or(Fault::Damaged)?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?.try_into();
        bytes.map(u32::from_be_bytes).map_err(|_| Fault::Damaged)
    }

    fn flags(&mut self) -> Result<u16, Fault> {
        let bytes = self.take(2)?.try_into();
        bytes.map(u16::from_be_bytes).map_err(|_| Fault::Damaged)
    }

    /// Parses an entry. `name` contains the name of the previous entry, and then that of this one.
    fn entry(&mut self, version: u32, object_name: usize, name: &mut Vec<u8>) -> Result<(), Fault> {
        let start = self.at;
        self.take(STAT + object_name)?;
        let flags = self.flags()?;
        if version >= 3 && flags & EXTENDED != 0 {
            self.flags()?;
        }
        if version >= 4 {
            // The entry replaces the end of the previous name.
            let cut = self.varint()?;
            let kept = name.len().checked_sub(cut).ok_or(Fault::Damaged)?;
            name.truncate(kept);
            name.extend_from_slice(self.until_zero()?);
            return Ok(());
        }
        name.clear();
        match flags & LENGTH {
            LENGTH => name.extend_from_slice(self.until_zero()?),
            length => {
                name.extend_from_slice(self.take(usize::from(length))?);
                self.take(1)?;
            }
        }
        // One to eight zero bytes pad the entry to a multiple of eight.
        let past = (self.at - start) % 8;
        self.take((8 - past) % 8)?;
        Ok(())
    }

    fn until_zero(&mut self) -> Result<&'b [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = memchr::memchr(0, rest).ok_or(Fault::Damaged)?;
        let found = self.take(length)?;
        self.take(1)?;
        Ok(found)
    }

    /// Parses an integer of variable length. Source: git 2.47, `varint.c`.
    fn varint(&mut self) -> Result<usize, Fault> {
        let mut byte = self.byte()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            let next = value
                .checked_add(1)
                .and_then(|value| value.checked_mul(128));
            value = next.ok_or(Fault::Damaged)? + usize::from(byte & 0x7f);
        }
        Ok(value)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.take(1)?.first().copied().ok_or(Fault::Damaged)
    }

    /// Parses the extensions, which must fill the rest. Those whose name starts with a capital letter are
    /// optional and skipped.
    fn extensions(&mut self) -> Result<(), Fault> {
        while self.at < self.bytes.len() {
            let name = self.take(4)?;
            let length = self.number()?;
            self.take(usize::try_from(length).map_err(|_| Fault::Damaged)?)?;
            match name {
                b"link" => return Err(Fault::Split),
                // Entries for whole folders.
                b"sdir" => {}
                [first, ..] if first.is_ascii_uppercase() => {}
                _ if name.is_ascii() => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    return Err(Fault::Extension(name));
                }
                _ => return Err(Fault::Damaged),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn slashed(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn slashed(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(name).into()
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> PathBuf {
    String::from_utf8_lossy(name).into_owned().into()
}
