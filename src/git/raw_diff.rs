//! Parser for the output of `git diff-tree` and `git diff-index` with `--raw -z`.
//!
//! Source: git 2.47, `Documentation/diff-format.txt` ("Raw output format").

use std::path::PathBuf;

use super::error::GitError;
use super::names::path_of;

/// Options of a diff: no renames, no programs, full names of objects, and submodules by their recorded commits.
pub(super) const OPTIONS: [&str; 9] = [
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--no-relative",
];

/// Option for the index: a file that is only announced (`git add -N`) does not exist.
pub(super) const ANNOUNCED_IS_ABSENT: &str = "--ita-invisible-in-index";

/// A path that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    /// The mode on the second side; empty if the path does not exist there.
    pub(super) mode: String,
    /// The name of the object on the second side.
    pub(super) object: String,
    pub(super) is_unmerged: bool,
}

/// Parses the output of a diff.
pub(super) fn parse(output: &[u8]) -> Result<Vec<Difference>, GitError> {
    let unexpected = || GitError::UnexpectedOutput("diff --raw".to_owned());
    let mut parts = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(header) = parts.next().filter(|header| !header.is_empty()) {
        let header = str::from_utf8(header).map_err(|_| unexpected())?;
        let words: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let [_, mode, _, object, status] = words.as_slice() else {
            return Err(unexpected());
        };
        let path = parts.next().filter(|path| !path.is_empty());
        let path = path.ok_or_else(unexpected)?;
        let is_deleted = *mode == "000000";
        found.push(Difference {
            path: path_of(path),
            mode: if is_deleted {
                String::new()
            } else {
                (*mode).to_owned()
            },
            object: (*object).to_owned(),
            is_unmerged: status.starts_with('U'),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::parse;

    #[test]
    fn differences_are_parsed() {
        let output = b":100644 000000 aa 00 D\0a b\0:000000 120000 00 bb A\0c/d\n\0:0 0 0 0 U\0e\0";
        let found = parse(output).unwrap();
        let paths: Vec<&Path> = found.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(
            paths,
            [Path::new("a b"), Path::new("c/d\n"), Path::new("e")]
        );
        assert_eq!(
            (found[0].mode.as_str(), found[1].mode.as_str()),
            ("", "120000")
        );
        assert!(found[2].is_unmerged && !found[1].is_unmerged);
        assert!(parse(b":1 2 3\0a\0").is_err() && parse(b":1 2 3 4 M\0").is_err());
        assert_eq!(parse(b"").unwrap(), []);
    }
}
