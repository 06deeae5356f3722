//! Marks findings that the user suppresses with a comment, an annotation or the configuration.

mod collect;
mod rendered;
mod report;
mod suppressions;

pub(super) use rendered::AnnotatedPods;
pub use suppressions::suppress_known;
pub(super) use suppressions::{Suppressions, mark_configured};
