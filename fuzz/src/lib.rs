//! What must hold for every input, one module per fuzz target.
//!
//! Each `run` takes any bytes and panics where something does not hold. The targets below
//! `fuzz_targets/` hand them what libFuzzer makes up; `tests/it/fuzz_regressions.rs` of the main package
//! hands them the fixtures and every input that has ever been a finding, on the stable toolchain.

pub mod check;
pub mod config;
pub mod edit;
pub mod events;
pub mod krm;
pub mod parse;
pub mod probers;
pub mod yaml_diff;

mod input;
mod manifest;
