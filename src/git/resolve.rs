//! Resolves links and `..` in paths that lead through a revision.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::object_files::{ObjectFiles, Place};
use super::tree::Node;
use crate::filesystem::{Disk, Kind, PathProblem, ReadFiles as _, path_error};

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

/// Maximum length of a name in bytes, as in the usual file systems.
const LONGEST_NAME: usize = 255;

/// Maximum length of a path in bytes, as in Linux.
const LONGEST_PATH: usize = 4095;

impl ObjectFiles {
    /// Resolves a path. Follows a link at its end only if `follows`.
    pub(super) fn resolved(&self, path: &Path, follows: bool) -> io::Result<PathBuf> {
        check_text(path)?;
        let absolute = std::path::absolute(path)?;
        let below = absolute.strip_prefix(self.root());
        let (mut real, rest) = match below {
            Ok(below) => (self.root().to_path_buf(), below),
            Err(_) => (PathBuf::new(), absolute.as_path()),
        };
        let mut next: VecDeque<OsString> = rest.components().filter_map(part).collect();
        let mut left = LINKS;
        while let Some(name) = next.pop_front() {
            if name == ".." {
                self.check_folder(&real)?;
                real.pop();
                continue;
            }
            // A name with a root replaces what is before it.
            let named = real.join(&name);
            if name.len() > LONGEST_NAME {
                return Err(path_error(PathProblem::TooLong));
            }
            let target = match self.place(&named)? {
                _ if next.is_empty() && !follows => None,
                Place::Tree(Node::Link(object)) => Some(self.target(&named, object)?),
                Place::Disk(path) => match Disk.symlink_kind(&path)? {
                    Kind::Link => Some(Disk.read_link(&path)?),
                    _ => None,
                },
                Place::Tree(_) | Place::Bytes(_) => None,
            };
            match target {
                None => {
                    real = named;
                    let is_last = next.is_empty();
                    if !is_last {
                        self.check_folder(&real)?;
                    }
                }
                Some(target) => {
                    left = left
                        .checked_sub(1)
                        .ok_or_else(|| path_error(PathProblem::TooManyLinks))?;
                    check_text(&target)?;
                    if target.as_os_str().is_empty() {
                        return Err(path_error(PathProblem::Missing));
                    }
                    let parts: Vec<OsString> = target.components().filter_map(part).collect();
                    for part in parts.into_iter().rev() {
                        next.push_front(part);
                    }
                }
            }
        }
        self.kind_at(&real)?;
        if ends_with_slash(path) {
            self.check_folder(&real)?;
        }
        Ok(real)
    }

    fn check_folder(&self, path: &Path) -> io::Result<()> {
        match self.kind_at(path)? {
            Kind::Folder => Ok(()),
            _ => Err(path_error(PathProblem::NotAFolder)),
        }
    }
}

fn part(part: Component<'_>) -> Option<OsString> {
    (part != Component::CurDir).then(|| part.as_os_str().to_os_string())
}

/// Rejects texts that the system does not accept as a path.
fn check_text(path: &Path) -> io::Result<()> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if bytes.len() > LONGEST_PATH {
        return Err(path_error(PathProblem::TooLong));
    }
    if bytes.is_empty() {
        return Err(path_error(PathProblem::Missing));
    }
    Ok(())
}

fn ends_with_slash(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.len() > 1 && (bytes.ends_with(b"/") || bytes.ends_with(b"/."))
}
