//! The integration tests in one binary: one module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and shows what it has counted"
)]

mod architecture;
mod cli;
mod control_plane;
mod diff;
mod docs;
#[cfg(target_os = "linux")]
mod faults;
mod fuzz_regressions;
#[path = "../../fuzz/src/lib.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the fuzz targets, which use more of it"
)]
mod fuzz_targets;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod growth;
mod html;
mod import_circles;
mod install;
mod istio;
mod kubernetes;
mod kustomize;
mod lsp;
#[cfg(feature = "mcp")]
mod mcp;
mod meshes;
mod rewrite;
mod robustness;
mod rules;
mod support;
mod symptoms;
mod upstream_examples;
mod vm_goldens;
mod walk_against_ignore;
mod yaml;

/// The allocator of the program: the tests allocate on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
