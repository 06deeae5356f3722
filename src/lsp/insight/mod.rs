//! What requests ask about: the node at a position, the probes of a file, and the lines that decide about them.

mod cursor;
mod decisions;
mod handlers;
mod outcomes;

pub(super) use cursor::Cursor;
pub(super) use decisions::{Decision, decided_by, deciding_locations};
pub(super) use handlers::{handlers_in, span_in};
pub(super) use outcomes::{Names, Outcomes};
