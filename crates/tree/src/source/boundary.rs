//! The repository as a boundary: the content of a repository must not make a run read or write
//! files outside of it. Paths of the command line may be anywhere, unless a link of the repository
//! redirects them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::filesystem::without_dots;
use crate::source::discover::tracked::Tracked;

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

impl FileSystem {
    /// Returns whether a resolved path is in the repository of `folder`; true where there is no
    /// repository.
    pub(in crate::source) fn is_within(&self, folder: &Path, real: &Path) -> bool {
        let folder = self.resolved_or_folded(folder);
        self.repository_root(&folder)
            .is_none_or(|root| real.starts_with(root))
    }

    /// Returns the folder that paths found in a file of `folder` must stay in: its repository; where
    /// there is none, the folder itself.
    #[must_use]
    pub fn boundary(&self, folder: &Path) -> PathBuf {
        let folder = self.resolved_or_folded(folder);
        match self.repository_root(&folder) {
            Some(root) => root.to_path_buf(),
            None => folder,
        }
    }

    /// Resolves a path from a file of the tree, relative to a folder that exists.
    ///
    /// # Errors
    /// The reason why the path must not be opened: it leads out of `boundary`, a resolved path. Paths outside are
    /// never accessed, so the result does not depend on what exists there.
    pub fn resolved_within(
        &self,
        folder: &Path,
        path: &Path,
        boundary: &Path,
    ) -> Result<PathBuf, &'static str> {
        const LEADS_OUT: &str = "it leads out of the repository";
        // Resolve `..` in the text first: the system must not access paths outside.
        let shortest = without_dots(&self.resolved_or_folded(folder).join(path));
        let named = shortest.strip_prefix(boundary).map_err(|_| LEADS_OUT)?;
        let mut real = boundary.to_path_buf();
        let mut left = LINKS;
        let mut next = VecDeque::new();
        prepend(&mut next, named);
        while let Some(name) = next.pop_front() {
            if name == ".." {
                real.pop();
                if !real.starts_with(boundary) {
                    return Err(LEADS_OUT);
                }
                continue;
            }
            let next_path = real.join(&name);
            match self.read_link(&next_path) {
                Ok(target) => {
                    left = left
                        .checked_sub(1)
                        .ok_or("it leads through too many links")?;
                    if target.has_root() {
                        let target = target.strip_prefix(boundary).map_err(|_| LEADS_OUT)?;
                        real = boundary.to_path_buf();
                        prepend(&mut next, target);
                    } else {
                        prepend(&mut next, &target);
                    }
                }
                Err(_) => real = next_path,
            }
        }
        Ok(real)
    }

    /// Resolves an absolute path that the user names. `tracked` is what git tracks, as far as it is known.
    ///
    /// # Errors
    /// The link that makes the path lead out of the repository to which the link belongs. A link that git
    /// does not track belongs to the user, and may lead anywhere.
    pub(in crate::source) fn resolved_as_named(
        &self,
        path: &Path,
        tracked: &mut Tracked,
    ) -> Result<PathBuf, PathBuf> {
        if let Ok(real) = self.canonical(path)
            && real == path
        {
            // The given path may still contain `.`.
            return Ok(real);
        }
        let mut real = PathBuf::new();
        let mut left = LINKS;
        let mut next = VecDeque::new();
        prepend(&mut next, path);
        while let Some(name) = next.pop_front() {
            if name == ".." {
                real.pop();
                continue;
            }
            // A name with a root replaces what is before it.
            let next_path = real.join(&name);
            let Ok(target) = self.read_link(&next_path) else {
                real = next_path;
                continue;
            };
            left = match left.checked_sub(1) {
                Some(left) if !self.leads_out(&real, &next_path, &target, tracked) => left,
                _ => return Err(next_path),
            };
            prepend(&mut next, &target);
        }
        // If names can have several spellings, as on Windows, choose one.
        Ok(if cfg!(unix) {
            real
        } else {
            self.resolved_or_folded(&real)
        })
    }

    /// Returns whether a link in `folder`, a resolved path, belongs to a repository and leads out of it. Checks only
    /// the text of the target, because the caller checks further links of the path one by one.
    fn leads_out(&self, folder: &Path, link: &Path, target: &Path, tracked: &mut Tracked) -> bool {
        let Some(root) = self.repository_root(folder) else {
            return false;
        };
        if without_dots(&folder.join(target)).starts_with(root) {
            return false;
        }
        self.is_tracked(link) || tracked.may_contain(root, link)
    }
}

/// Inserts the components of a path before the others.
fn prepend(next: &mut VecDeque<OsString>, path: &Path) {
    let parts: Vec<Component<'_>> = path.components().collect();
    let parts = parts.into_iter().filter(|part| *part != Component::CurDir);
    for part in parts.rev() {
        next.push_front(part.as_os_str().to_os_string());
    }
}
