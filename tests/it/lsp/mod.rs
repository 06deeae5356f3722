//! The language server, over channels in the process of the test.

mod code_actions;
mod completion;
mod diagnostics;
mod editor;
mod hints;
mod hover;
mod lifecycle;
mod navigation;
mod process;
mod pull;
mod random_edits;
mod requests;
mod robustness;
mod settings;
mod synchronization;
