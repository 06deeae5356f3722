//! The command line: the only module that prints, reads the environment, and sets the exit code.

mod args;
mod baseline;
mod check;
mod config;
mod diff;
mod environments;
mod explain;
mod input;
mod lsp;
mod mcp;
mod output;
mod paths;
mod predict;
mod render;
mod reports;
mod rewrite;
mod run;
mod session;
mod shell;
mod stop;
mod surroundings;
mod terminal;
mod threads;
mod vm;

pub use lsp::serve as serve_lsp;
pub use run::{main, run};
pub use session::Session;
