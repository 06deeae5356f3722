//! Compares two states of the manifests: what changes for each probe, and the line that causes it.
//!
//! The unit of a comparison is a handler of a container of an object in an environment, never a line: renaming a file
//! or moving a document changes nothing. Findings that are not about a handler are compared as well.

mod cause;
mod change;
mod class;
mod compare;
mod environment_cause;
mod environments;
mod fields;
mod findings;
mod inputs;
mod not_judged;
mod probe_state;
mod probes;
mod release;
mod state;
mod text_diff;

pub use cause::Cause;
pub use change::{Change, Comparison, Group, Subject, groups};
pub use class::{Class, FailOn, Side};
pub use compare::{add_hidden, compare, name_option};
pub use not_judged::is_hidden;
pub use probe_state::{ProbeId, ProbeState};
pub use release::{explain_releases, patch_level_note, release_facts};
pub use state::{FactReaders, NotMoved, State};
