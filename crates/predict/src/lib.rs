//! The facts about each workload, and the verdict of each handler.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod context;
pub mod predict;
