//! Opens files and folders so that no symbolic link can redirect the access.
//!
//! A path is resolved and checked first, and opened later; a link that is put in its place in
//! between must not win. So callers resolve a path once (`canonicalize`), check the result, and
//! open that result here, where any link in the path is an error. Writes go through an open
//! [`Folder`] and name entries of it, never paths.
//!
//! Linux resolves the whole path in one call (`openat2` with `RESOLVE_NO_SYMLINKS`); where the
//! kernel or a sandbox does not offer it, and on other Unix systems, each component is opened
//! relative to the one before it with `O_NOFOLLOW`. On Windows the path is compared before and
//! after opening. `docs/decisions/0002-repository-boundary.md` has the reasons.

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
