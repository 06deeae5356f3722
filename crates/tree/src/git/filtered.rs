//! Files that git converts with a program when it writes or reads them.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::command::Git;
use super::error::GitError;
use super::names::path_of;

/// The maximum number of files that are looked up: their paths are arguments of a command.
const MOST: usize = 200;

/// Returns the files among `paths`, which are relative to the root, that have a filter in the attributes of the repository.
///
/// # Errors
/// Git cannot read the attributes.
pub(super) fn filtered(git: &Git, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let options = ["check-attr", "-z", "filter", "--"].map(OsStr::new);
    let paths = paths.iter().take(MOST).map(|path| path.as_os_str());
    let arguments: Vec<&OsStr> = options.into_iter().chain(paths).collect();
    let output = git.run(&arguments)?;
    // The path, the attribute and its value, each with a null byte at its end.
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let (records, _) = fields.as_chunks::<3>();
    let with_filter = records.iter().filter(|[_, _, value]| {
        let without: [&[u8]; 3] = [b"unspecified", b"unset", b"set"];
        !without.contains(value)
    });
    Ok(with_filter.map(|[path, ..]| path_of(path)).collect())
}
