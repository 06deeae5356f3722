//! Finds the files of a run: walks directories, and follows the references of kustomizations.

pub(super) mod candidate;
mod find;
mod references;
mod walk;
mod walk_options;

pub use candidate::{Candidate, Folders, Input, Request};
pub use find::{find, mark_repositories};
pub use references::{Named, labels_objects, scripts};
pub use walk_options::{Exclude, TEMPORARY, WalkOptions};
