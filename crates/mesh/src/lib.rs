//! Findings, Kubernetes objects, what each mesh does, and the options of the user.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod finding;
pub mod kube;
pub mod mesh;
pub mod settings;
