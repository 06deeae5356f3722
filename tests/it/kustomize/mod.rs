//! Compares the renderer in process with the real kustomize.

mod overlay_properties;
mod predict;
mod random_overlay;
mod random_tree;
mod rendering;
mod rewrite;
mod tree_and_pipe;
