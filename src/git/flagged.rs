//! Files of the index with a flag that hides their changes from git.

use super::command::Git;
use super::error::GitError;
use super::names::{is_valid, path_of, text};
use super::tree::Listed;

/// A file with a flag that hides its changes from git.
#[derive(Debug)]
pub(super) struct Flagged {
    pub(super) listed: Listed,
    /// Whether git assumes that it does not exist on disk, as in a sparse checkout.
    pub(super) is_skipped: bool,
}

/// Lists the files of the index with a flag.
pub(super) fn flagged(git: &Git) -> Result<Vec<Flagged>, GitError> {
    let output = git.run(&["ls-files", "-v", "-s", "-z", "--full-name"])?;
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
