//! The program from outside: arguments, streams, files, exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot prepare its files may stop"
)]

mod added;
mod bad_input;
mod certainty;
mod deployed;
mod deployed_bases;
mod explained;
mod facts;
mod fixed;
mod fixes;
mod formats;
mod guards;
mod holds_itself;
mod kept;
mod krm;
mod krm_contract;
mod krm_settings;
mod linked_patches;
mod machine;
mod machine_verdicts;
mod merge_keys;
mod mirror;
mod named_files;
mod names;
mod overlays;
mod predicted_places;
mod program;
mod project;
mod reasons;
mod rendered;
mod report_files;
mod reports;
mod scope;
mod settings;
mod suppressed;
mod undo;
mod verdicts;
mod walking;
mod whereabouts;
mod worlds;
