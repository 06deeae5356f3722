//! Opens files and folders so that no symbolic link can redirect the access.
//!
//! Callers resolve a path once (`canonicalize`), check the result, and open that result with this module, where a link
//! in the path is an error: someone may replace the path with a link between the check and the access. Writes use an
//! open [`Folder`] and names of entries, never paths.
//!
//! Linux resolves the whole path in one call (`openat2` with `RESOLVE_NO_SYMLINKS`). If the kernel or a sandbox does not
//! support this call, and on other Unix systems, each component is opened relative to the previous one with
//! `O_NOFOLLOW`. On Windows the path is compared before and after opening.
//! `docs/decisions/0002-repository-boundary.md` explains the reasons.
//!
//! Code that only reads uses a [`FileSystem`], so that it can read another state of a repository as if it were on disk.

mod canonical;
mod confined;
mod disk;
mod file_system;
mod kind;
mod open_file;
mod path_problem;
mod plain_path;
#[cfg(not(unix))]
mod portable;
mod read_files;
#[cfg(unix)]
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;

pub use canonical::canonical;
pub use confined::Confinement;
pub use disk::Disk;
pub use file_system::FileSystem;
pub use kind::{Entry, Kind};
pub use open_file::OpenFile;
pub use path_problem::PathProblem;
pub use plain_path::without_dots;
#[cfg(not(unix))]
pub use portable::{Folder, entries, open_file, path_error};
pub use read_files::ReadFiles;
#[cfg(unix)]
pub use unix::{Folder, entries, open_file, path_error};
