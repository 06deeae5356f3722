//! Renders manifests with the programs of the user.

mod process;
mod renderers;
mod tree_charts;

pub(super) use renderers::all;
pub(super) use tree_charts::tree_charts;
