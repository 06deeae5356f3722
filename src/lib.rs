//! meshprobe predicts what a service mesh will do to each Kubernetes health probe, from
//! manifests alone. It reports the results, or applies the rewrite ahead of deployment.
//!
//! **This library is not an API.** It exists for the `meshprobe` binary and for this repository's
//! tests, benchmarks and fuzz targets. Any item can change or disappear in any release, including
//! patch releases; semantic versioning covers the command line and the formats that
//! `docs/stability.md` lists. Programs run the binary and read its JSON output.

pub mod cli;
pub mod krm;

// The tests, the benchmarks and the fuzz targets reach all layers through this library.
pub use meshprobe_deploy::{gitops, kustomize};
pub use meshprobe_engine::{diff, engine};
pub use meshprobe_lsp as lsp;
#[cfg(feature = "mcp")]
pub use meshprobe_mcp as mcp;
pub use meshprobe_mesh::{finding, kube, mesh, settings};
pub use meshprobe_predict::{context, predict};
pub use meshprobe_report as report;
pub use meshprobe_rules::{rules, symptoms};
pub use meshprobe_tree::{filesystem, git, source};
pub use meshprobe_yaml as yaml;
