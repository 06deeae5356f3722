//! meshprobe predicts what a service mesh will do to each Kubernetes health probe, from
//! manifests alone; it reports the verdict, or writes the rewrite down ahead of deployment.

pub mod cli;
pub mod context;
pub mod engine;
pub mod finding;
pub mod krm;
pub mod kube;
pub mod mesh;
pub mod predict;
pub mod report;
pub mod rewrite;
pub mod rules;
pub mod settings;
pub mod source;
pub mod yaml;
