//! Marks findings that the user suppresses with a comment, an annotation or the configuration.

mod collect;
mod directive;
mod index;
mod known;
mod rendered;
mod report;
mod suppressions;

pub use known::suppress_known;
pub(super) use rendered::AnnotatedPods;
pub(super) use suppressions::{Suppressions, mark_configured};
