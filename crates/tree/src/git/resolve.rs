//! Resolves links and `..` in paths that lead through a revision.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::object_reader::{LONGEST_PATH, ObjectFiles, Place};
use super::tree::Node;
use crate::filesystem::{
    Disk, Kind, LONGEST_NAME, PathProblem, ReadFiles as _, ends_with_slash, path_error,
};

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

impl ObjectFiles {
    /// Resolves a path. Follows a link at its end only if `follows`.
    pub(super) fn resolved(&self, path: &Path, follows: bool) -> io::Result<PathBuf> {
        if let Some(found) = self.direct(path) {
            return found.map(|_| path.to_path_buf());
        }
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
                Place::Tree(_) => None,
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

    /// Returns the entry at a path that leads neither through a link nor out of the tree, and an error if its folder
    /// does not contain it; `None` if the path must be resolved.
    ///
    /// The tree has a node for each path that exists in it, so a node that is found at once has only folders above it.
    pub(super) fn direct(&self, path: &Path) -> Option<io::Result<&Node>> {
        let below = self.below_root(path)?;
        match self.node(below) {
            Some(Node::Link(_)) => return None,
            Some(node) => return Some(Ok(node)),
            None => {}
        }
        let mut above = below.ancestors().skip(1);
        match above.find_map(|above| self.node(above)) {
            Some(Node::Folder) => Some(Err(path_error(PathProblem::Missing))),
            _ => None,
        }
    }

    /// Returns the part of a path below the root, if only the tree decides what is there, and if the path is spelled
    /// like those of the tree.
    fn below_root<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if self.prefers_disk {
            return None;
        }
        self.spelled_below(path)
    }

    /// Returns the part of a path below the root, if the path is spelled like those of the tree.
    pub(super) fn spelled_below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let below = path.strip_prefix(self.root()).ok()?;
        let names = below.components().map(|part| part.as_os_str().len() + 1);
        let spelled = self.root().as_os_str().len() + names.sum::<usize>();
        let is_spelled_so = path.as_os_str().len() == spelled && spelled <= LONGEST_PATH;
        (is_spelled_so && is_plain(below)).then_some(below)
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

/// Returns whether a relative path consists of names that a tree may contain.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| match part {
        Component::Normal(name) => {
            let bytes = name.as_encoded_bytes();
            name != ".git" && bytes.len() <= LONGEST_NAME && !bytes.contains(&0)
        }
        _ => false,
    })
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
