//! Finds the files of a run: walks directories, and follows the references of kustomizations.

pub(super) mod candidate;
mod find;
pub(super) mod folders;
mod generated;
mod ignores;
mod linked_worktree;
mod references;
mod repositories;
pub(super) mod request;
mod scripts;
pub(super) mod tracked;
mod walk;
mod walk_bounds;
mod walk_entry;
mod walk_options;
mod walk_root;

pub use candidate::Candidate;
pub use find::find;
pub use folders::Folders;
pub use references::{Named, setting_files};
pub use repositories::mark_repositories;
pub use request::{Input, Request};
pub use scripts::{labels_objects, scripts};
pub use walk_entry::TEMPORARY;
pub use walk_options::{Exclude, WalkOptions};
