//! The Model Context Protocol server, with a client of the tests. `tests/e2e/mcp.sh` uses the official one.

mod client;
mod docs;
mod pages;
mod protocol;
mod resources;
mod revisions;
mod roots;
mod tools;
