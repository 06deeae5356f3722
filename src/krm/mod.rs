//! The KRM function: edits a `ResourceList` in place.
//!
//! The caller silently deletes resources that are missing from the output. Therefore the output is the text of the input
//! with edits, never a newly printed list, and a call that fails has no output.

mod act;
mod config;
mod definition;
mod function;
mod list;
mod results;

pub use act::{Answer, ConfigFile};
pub use definition::definition;
pub use function::run;
