//! The repository as a boundary: what a repository contains must not make a run read or write
//! anything outside of it. What the user names on the command line may be anywhere, unless a link
//! of the repository redirects it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::filesystem::canonical;

use super::git::TrackedFiles;
use super::kustomization::{folded, identity};

/// How many links a path may lead through. The limit of Linux.
const LINKS: usize = 40;

/// Returns the nearest repository that contains a folder, given by its resolved path.
pub(super) fn repository_root(folder: &Path) -> Option<&Path> {
    let mut above = folder.ancestors();
    above.find(|folder| folder.join(".git").exists())
}

/// Returns whether a resolved path is in the repository of `folder`; true where there is no
/// repository.
pub(super) fn is_within(folder: &Path, real: &Path) -> bool {
    let folder = identity(folder);
    repository_root(&folder).is_none_or(|root| real.starts_with(root))
}

/// Returns the folder that paths found in a file of `folder` must stay in: its repository; where
/// there is none, the folder itself.
#[must_use]
pub fn boundary(folder: &Path) -> PathBuf {
    let folder = identity(folder);
    match repository_root(&folder) {
        Some(root) => root.to_path_buf(),
        None => folder,
    }
}

/// Returns what git tracks in the repository of a file, with the root of that repository, where it
/// tracks that file. Where the index cannot be read, any file may be tracked, and none is known to
/// be.
#[must_use]
pub fn tracked_with(file: &Path) -> Option<(PathBuf, TrackedFiles)> {
    let root = repository_root(file.parent()?)?;
    let tracked = match TrackedFiles::read(root) {
        Some(Ok(tracked)) if !tracked.contains(file.strip_prefix(root).ok()?) => return None,
        Some(Ok(tracked)) => tracked,
        Some(Err(_)) | None => TrackedFiles::default(),
    };
    Some((root.to_path_buf(), tracked))
}

/// Resolves a path that was found in a file of the tree, as seen from a folder that exists.
///
/// # Errors
/// Why it must not be opened: it leads out of `boundary`, a resolved path. What is outside is not
/// looked at, so the answer does not depend on what exists there.
pub fn resolved_within(
    folder: &Path,
    path: &Path,
    boundary: &Path,
) -> Result<PathBuf, &'static str> {
    const LEADS_OUT: &str = "it leads out of the repository";
    // By the words alone first: `..` must not make the system look outside.
    let shortest = folded(&identity(folder).join(path));
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
        let place = real.join(&name);
        match std::fs::read_link(&place) {
            Ok(target) => {
                left = left.checked_sub(1).ok_or("too many links lead on")?;
                if target.has_root() {
                    let target = target.strip_prefix(boundary).map_err(|_| LEADS_OUT)?;
                    real = boundary.to_path_buf();
                    prepend(&mut next, target);
                } else {
                    prepend(&mut next, &target);
                }
            }
            Err(_) => real = place,
        }
    }
    Ok(real)
}

/// Resolves an absolute path that the user names.
///
/// # Errors
/// The link that makes the path lead out of the repository that the link belongs to. A link that git
/// does not track is the user's own, and may lead anywhere.
pub fn resolved_as_named(path: &Path) -> Result<PathBuf, PathBuf> {
    if let Ok(real) = canonical(path)
        && real == path
    {
        // As resolved: the path may have `.` in it.
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
        let place = real.join(&name);
        let Ok(target) = std::fs::read_link(&place) else {
            real = place;
            continue;
        };
        left = match left.checked_sub(1) {
            Some(left) if !leads_out(&real, &place, &target) => left,
            _ => return Err(place),
        };
        prepend(&mut next, &target);
    }
    // Where names have several spellings, as on Windows, one is chosen.
    Ok(if cfg!(unix) { real } else { identity(&real) })
}

/// Returns whether a link in `folder`, a resolved path, belongs to a repository and leads out of it.
/// By the words alone: further links on the way are looked at one by one.
fn leads_out(folder: &Path, link: &Path, target: &Path) -> bool {
    let Some(root) = repository_root(folder) else {
        return false;
    };
    if folded(&folder.join(target)).starts_with(root) {
        return false;
    }
    let below = link.strip_prefix(root).unwrap_or(link);
    // Where the index cannot be read, the link may be the repository's.
    TrackedFiles::read(root)
        .is_none_or(|tracked| !tracked.is_ok_and(|tracked| !tracked.contains(below)))
}

/// Puts the components of a path before the others.
fn prepend(next: &mut VecDeque<OsString>, path: &Path) {
    let parts: Vec<Component<'_>> = path.components().collect();
    let parts = parts.into_iter().filter(|part| *part != Component::CurDir);
    for part in parts.rev() {
        next.push_front(part.as_os_str().to_os_string());
    }
}
