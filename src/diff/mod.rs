//! Compares two states of the manifests: what changes for each probe, and the line that causes it.
//!
//! The unit of a comparison is a handler of a container of an object in an environment, never a line: renaming a file
//! or moving a document changes nothing. Findings that are not about a handler are compared as well.

mod cause;
mod change;
mod class;
mod compare;
mod comparison;
mod environment_cause;
mod environments;
mod fact_readers;
mod fields;
mod finding_key;
mod findings;
mod group;
mod handler_findings;
mod included;
mod inputs;
mod not_judged;
mod not_moved;
mod pairing;
mod probe_pairs;
mod probe_state;
mod probes;
mod release;
mod remaining;
mod side;
mod sources;
mod state;
mod text_diff;

pub use cause::Cause;
pub use change::{Change, Subject};
pub use class::{Class, FailOn};
pub use compare::{add_hidden, compare, name_option};
pub use comparison::Comparison;
pub use fact_readers::FactReaders;
pub use group::{Group, groups};
pub use not_moved::NotMoved;
pub use probe_state::{ProbeId, ProbeState};
pub use release::{explain_releases, patch_level_note, release_facts};
pub use side::Side;
pub use state::State;
