//! What a file system, a user or a hostile repository can do to a run: the user learns it in one
//! plain line, and no file is lost. The rows make `docs/faults.md`.

#![cfg(target_os = "linux")]
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot prepare its files may stop"
)]

#[path = "faults/folders.rs"]
mod folders;
#[path = "faults/kustomizations.rs"]
mod kustomizations;
#[path = "faults/names.rs"]
mod names;
#[path = "faults/page.rs"]
mod page;
#[path = "cli/project.rs"]
mod project;
#[path = "faults/scene.rs"]
mod scene;
#[path = "faults/surroundings.rs"]
mod surroundings;
#[path = "faults/text.rs"]
mod text;
#[path = "faults/writing.rs"]
mod writing;
