//! Kustomize in process, compared with the real one.

mod predict;
mod rendering;
mod rewrite;
