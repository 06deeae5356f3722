//! meshprobe predicts what a service mesh will do to each Kubernetes health probe, from
//! manifests alone; it reports the verdict, or writes the rewrite down ahead of deployment.

pub mod finding;
pub mod source;
pub mod yaml;
