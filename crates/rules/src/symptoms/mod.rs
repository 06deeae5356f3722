//! The texts that users paste when a probe fails, each with a page of documentation.

mod pattern;
mod probes;
mod registry;
mod search;
mod symptom;

pub use pattern::{Pattern, Specificity};
pub use probes::Pasted;
pub use registry::all;
pub use search::{Match, find, normal_line};
pub use symptom::{Cause, Symptom};
