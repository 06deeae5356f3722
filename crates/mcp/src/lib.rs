//! The Model Context Protocol server: assistants check manifests, predict probes and get proposed fixes.
//!
//! A tool runs a command of the program and shortens its JSON report, so that an answer equals the result of the
//! command line. The caller passes the function that runs a command ([`Runner`]), which limits the files that the
//! command reads. The server writes nothing and does not use the network. It runs no programs but git, which
//! reads revisions.
//! `docs/decisions/0017-mcp.md` explains the reasons.

mod answer;
mod error;
mod page;
mod paths;
mod resources;
mod roots;
mod server;
#[cfg(test)]
mod tests;
mod tools;

pub use error::{Command, Output, Runner};
pub use roots::{Options, Root, Roots};
pub use server::serve;
