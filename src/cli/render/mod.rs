//! Renders manifests with the programs of the user.

mod process;
mod renderers;

pub(super) use renderers::{all, tree_charts};
