//! The language server, over channels in the process of the test.

mod code_actions;
mod diagnostics;
mod editor;
mod lifecycle;
mod settings;
mod synchronization;
