//! The Model Context Protocol server: assistants check manifests, predict probes and get proposed fixes.
//!
//! A tool runs a command of the program and shortens its JSON report, so that an answer equals the result of the
//! command line. The caller passes the function that runs a command ([`Runner`]), which limits the files that the
//! command reads. The server writes nothing and does not use the network. It runs no programs but git, which
//! reads revisions.
//! `docs/decisions/0017-mcp.md` explains the reasons.

mod answer;
mod clean;
mod cursor;
mod error;
mod file_uri;
mod granted;
mod options;
mod page;
mod paths;
mod resources;
mod roots;
mod runner;
mod serve;
mod server;
#[cfg(test)]
mod tests;
mod tools;

pub use options::Options;
pub use roots::{Root, Roots};
pub use runner::{Command, Output, Runner};
pub use serve::serve;
pub use tools::reference;
