//! meshprobe predicts what a service mesh will do to each Kubernetes health probe, from
//! manifests alone. It reports the results, or applies the rewrite ahead of deployment.
//!
//! **This library is not an API.** It exists for the `meshprobe` binary and for this repository's
//! tests, benchmarks and fuzz targets. Any item can change or disappear in any release, including
//! patch releases; semantic versioning covers the command line and the formats that
//! `docs/stability.md` lists. Programs run the binary and read its JSON output.

pub mod cli;
pub mod context;
pub mod diff;
pub mod engine;
pub mod filesystem;
pub mod finding;
pub mod git;
pub mod gitops;
pub mod krm;
pub mod kube;
pub mod kustomize;
pub mod lsp;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod mesh;
pub mod predict;
pub mod report;
mod rewrite;
pub mod rules;
pub mod settings;
pub mod source;
pub mod symptoms;
pub mod yaml;
