//! meshprobe predicts what a service mesh will do to each Kubernetes health probe, from
//! manifests alone; it reports the verdict, or writes the rewrite down ahead of deployment.

pub mod context;
pub mod finding;
pub mod kube;
pub mod mesh;
pub mod predict;
pub mod rewrite;
pub mod rules;
pub mod settings;
pub mod source;
pub mod yaml;
