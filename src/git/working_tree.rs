//! Files of the working tree about which the index makes a false statement.

use std::path::PathBuf;
use std::sync::Arc;

use super::blobs::Blobs;
use super::error::GitError;
use super::names::{is_valid, path_of, text};
use super::repository::Repository;
use super::snapshot::Snapshot;
use super::tree::{GITLINK, LINK, Listed, Node, Object, Tree};

/// A file with a flag that hides its changes from git.
#[derive(Debug)]
struct Flagged {
    listed: Listed,
    /// Whether git assumes that it does not exist on disk, as in a sparse checkout.
    is_skipped: bool,
}

/// Returns the paths of existing files whose changes git does not see: those that are assumed to be unchanged, or that
/// exist although a sparse checkout leaves them out.
pub(super) fn hidden_changes(repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
    let flagged = flagged(repository)?.into_iter();
    let exists = |path: &PathBuf| repository.root.join(path).symlink_metadata().is_ok();
    Ok(flagged
        .filter(|flagged| !flagged.is_skipped || exists(&flagged.listed.path))
        .map(|flagged| flagged.listed.path)
        .collect())
}

impl Repository {
    /// Reads the working tree. Files that a sparse checkout leaves out are read from the index, so that a comparison
    /// with a commit does not report them as removed.
    ///
    /// # Errors
    /// Git cannot list the index.
    pub fn snapshot_of_working_tree(&self) -> Result<Snapshot, GitError> {
        snapshot_of_working_tree(self)
    }
}

fn snapshot_of_working_tree(repository: &Repository) -> Result<Snapshot, GitError> {
    let mut tree = Tree::new();
    let blobs = Arc::new(Blobs::new(repository.git.clone()));
    let skipped = flagged(repository)?.into_iter();
    let mut is_complete = true;
    let has_links = repository.has_links()?;
    for Flagged { listed, .. } in skipped.filter(|flagged| flagged.is_skipped) {
        let object = Object {
            name: listed.object,
            blobs: Arc::clone(&blobs),
        };
        let node = match listed.mode.as_str() {
            GITLINK => continue,
            LINK if has_links => Node::Link(object),
            _ => Node::File(object),
        };
        is_complete = false;
        tree.add(&listed.path, node);
    }
    Ok(if is_complete {
        Snapshot::of_disk()
    } else {
        Snapshot::over_disk(repository, tree)
    })
}

/// Lists the files of the index with a flag.
fn flagged(repository: &Repository) -> Result<Vec<Flagged>, GitError> {
    if repository.is_bare {
        return Ok(Vec::new());
    }
    let output = repository
        .git
        .run(&["ls-files", "-v", "-s", "-z", "--full-name"])?;
    let unexpected = || GitError::UnexpectedOutput("ls-files".to_owned());
    let mut found = Vec::new();
    for line in output
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty())
    {
        // `TAG MODE OBJECT STAGE<tab>PATH`; the tag of an assumed file is lower-case, that of a skipped one is `S`.
        let tag = line.first().copied().ok_or_else(unexpected)?;
        if !tag.is_ascii_lowercase() && tag != b'S' {
            continue;
        }
        let tab = line.iter().position(|byte| *byte == b'\t');
        let (header, path) = line
            .split_at_checked(tab.ok_or_else(unexpected)?)
            .ok_or_else(unexpected)?;
        let header = text(header);
        let words: Vec<&str> = header.split(' ').collect();
        let ([_, mode, object, _], path) =
            (words.as_slice(), path_of(path.get(1..).unwrap_or_default()))
        else {
            return Err(unexpected());
        };
        if !is_valid(&path) {
            return Err(GitError::InvalidPath(path.display().to_string()));
        }
        let (mode, object) = ((*mode).to_owned(), (*object).to_owned());
        found.push(Flagged {
            listed: Listed { path, mode, object },
            is_skipped: tag.eq_ignore_ascii_case(&b'S'),
        });
    }
    Ok(found)
}
