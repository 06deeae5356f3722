//! The language server: `meshprobe lsp`.
//!
//! The main thread ([`server`]) reads messages, keeps the documents that the client has opened, and never waits for an
//! analysis. Each folder of the workspace has a worker thread ([`worker`]) that loads the files, checks them as `check`
//! does, publishes diagnostics, and then answers requests from this analysis ([`requests`]) until something changes.
//! `cli` provides the settings of a folder through [`Loader`].

mod analysis;
mod buffers;
mod client;
mod diagnostics;
mod documents;
mod draft;
mod encoding;
mod handshake;
mod insight;
mod jobs;
mod loader;
mod lock;
mod parent;
mod progress;
mod publisher;
mod reload;
mod reports;
mod requests;
mod root;
mod server;
mod session;
mod settings;
mod shared;
mod shown_file;
mod uri;
mod view;
mod watched_files;
mod worker;
mod workspaces;

pub use loader::{Loader, Plan, SettingsError, Suppress};
pub use root::Root;
pub use server::{Environment, serve};
