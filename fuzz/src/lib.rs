//! Properties that hold for every input, one module per fuzz target.
//!
//! Each `run` accepts any bytes, and panics if a property does not hold. The targets in `fuzz_targets/` run them with
//! inputs that libFuzzer generates; `tests/it/fuzz_regressions.rs` of the main package runs them with the fixtures
//! and with every input that was a finding, on the stable toolchain.

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
