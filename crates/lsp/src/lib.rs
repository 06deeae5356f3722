//! The language server: `meshprobe lsp`.
//!
//! The main thread (`server`) reads messages, keeps the documents that the client has opened, and never waits for an
//! analysis. Each folder of the workspace has a worker thread (`worker`) that loads the files, checks them as `check`
//! does, publishes diagnostics, and then answers requests from this analysis (`requests`) until something changes.
//! `cli` provides the settings of a folder through [`Loader`].

mod analysis;
mod buffers;
mod client;
mod diagnostics;
mod encoding;
mod insight;
mod loader;
mod publisher;
mod requests;
mod server;
mod session;
mod shared;
mod worker;

pub use loader::{Loader, Plan, Root, SettingsError, Suppress};
pub use server::{Environment, serve};
