//! One run: load, analyse, fix and write; and what changes between two states.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod diff;
pub mod engine;
