//! Repositories of which the run may not read all files.

use meshprobe_tree::git::Repository;

use super::super::session::Session;
use super::super::stop::Stop;

/// Rejects a repository of which a part is outside of the folders that the run may read. Its revisions contain files that
/// may not be read, or come from there.
pub(super) fn reject_stored_outside(
    session: &Session,
    repository: &Repository,
) -> Result<(), Stop> {
    if repository
        .locations()
        .iter()
        .all(|path| session.may_read(path))
    {
        return Ok(());
    }
    Err(
        Stop::usage("the repository is not completely inside of the directories that may be read")
            .help("grant the folder of the repository and, for a linked working tree, that of its main repository"),
    )
}
