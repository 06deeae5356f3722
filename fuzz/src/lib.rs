//! What must hold for every input, one module per fuzz target.
//!
//! Each `run` takes any bytes and panics where something does not hold. The targets below
//! `fuzz_targets/` hand them what libFuzzer makes up; `tests/hostile_fuzz.rs` of the main package
//! hands them the fixtures and every input that has ever been a finding, on the stable toolchain.

pub mod check;
pub mod config;
pub mod edit;
pub mod krm;
pub mod parse;
pub mod probers;
pub mod yaml_diff;

mod input;
mod manifest;

// The comparison that the tests of the main package make, too.
#[path = "../../tests/events/mod.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod events;
