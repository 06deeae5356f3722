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

mod canonical;
mod kind;
#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;

pub use canonical::canonical;
pub use kind::{Entry, Kind};
#[cfg(not(unix))]
pub use portable::{Folder, entries, open_file};
#[cfg(unix)]
pub use unix::{Folder, entries, open_file};
