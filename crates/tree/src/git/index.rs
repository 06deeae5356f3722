//! The files of the index, and those with a flag that hides their changes from git.

use std::path::PathBuf;

use super::command::Git;
use super::error::GitError;
use super::names::{is_valid, path_of};
use super::tree::Listed;

/// A file with a flag that hides its changes from git.
#[derive(Debug)]
pub(super) struct Flagged {
    pub(super) listed: Listed,
    /// Whether git assumes that it does not exist on disk, as in a sparse checkout.
    pub(super) is_skipped: bool,
}

/// The files of the index.
#[derive(Debug)]
pub(super) struct Index {
    /// The listing of git.
    output: Vec<u8>,
    /// The files with a flag.
    pub(super) flagged: Vec<Flagged>,
}

/// A file of the index.
struct Entry<'i> {
    /// Lower-case if the file is assumed to be unchanged, `S` if a sparse checkout leaves it out.
    tag: u8,
    mode: &'i str,
    object: &'i str,
    path: &'i [u8],
}

impl Index {
    /// Lists the files of the index.
    pub(super) fn list(git: &Git) -> Result<Self, GitError> {
        let output = git.run(&["ls-files", "-v", "-s", "-z", "--full-name"])?;
        let has_flag = |line: &&[u8]| {
            let tag = line.first().copied().unwrap_or_default();
            tag.is_ascii_lowercase() || tag == b'S'
        };
        let flagged = lines(&output).filter(has_flag).map(|line| {
            let entry = parse(line)?;
            Ok(Flagged {
                listed: entry.listed()?,
                is_skipped: entry.tag.eq_ignore_ascii_case(&b'S'),
            })
        });
        let flagged = flagged.collect::<Result<_, GitError>>()?;
        Ok(Self { output, flagged })
    }

    /// Iterates over all paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = Result<PathBuf, GitError>> {
        lines(&self.output).map(|line| Ok(path_of(parse(line)?.path)))
    }
}

fn lines(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = output.split(|byte| *byte == 0);
    lines.filter(|line| !line.is_empty())
}

/// Parses `TAG MODE OBJECT STAGE<tab>PATH`.
fn parse(line: &[u8]) -> Result<Entry<'_>, GitError> {
    let unexpected = || GitError::UnexpectedOutput("ls-files".to_owned());
    let tag = line.first().copied().ok_or_else(unexpected)?;
    let tab = line.iter().position(|byte| *byte == b'\t');
    let (header, path) = line
        .split_at_checked(tab.ok_or_else(unexpected)?)
        .ok_or_else(unexpected)?;
    let header = str::from_utf8(header).map_err(|_| unexpected())?;
    let mut words = header.split(' ');
    let mut next = || words.next().ok_or_else(unexpected);
    let (_, mode, object) = (next()?, next()?, next()?);
    Ok(Entry {
        tag,
        mode,
        object,
        path: path.get(1..).unwrap_or_default(),
    })
}

impl Entry<'_> {
    fn listed(&self) -> Result<Listed, GitError> {
        let path = path_of(self.path);
        if !is_valid(&path) {
            return Err(GitError::InvalidPath(path.display().to_string()));
        }
        Ok(Listed {
            path,
            mode: self.mode.to_owned(),
            object: self.object.to_owned(),
        })
    }
}
