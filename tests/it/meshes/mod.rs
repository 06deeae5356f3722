//! Meshes other than Istio.

mod ambient;
mod assumptions;
mod consul;
mod detection;
mod docs;
mod known_keys;
mod kuma_admission;
mod kuma_consul_goldens;
mod linkerd;
mod linkerd_app_mesh;
mod matrix;
mod network_plugin;
mod osm_goldens;
mod previews;
mod second_pass;

use std::path::Path;

use crate::support::{Run, meshprobe};

/// Namespace `shop`, into which OSM injects, and the start of another document.
const OSM: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {openservicemesh.io/monitored-by: osm}
  annotations: {openservicemesh.io/sidecar-injection: enabled}
---
";
/// Namespace `shop`, into which Kuma injects, and the start of another document.
const KUMA: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}
---
";

/// Runs a command with `--isolated` on a text from standard input.
fn isolated(arguments: &[&str], text: &str) -> Run {
    let (command, options) = arguments.split_first().unwrap();
    let all = [&[*command, "--isolated"], options, &["-"]].concat();
    meshprobe(Path::new(env!("CARGO_MANIFEST_DIR")), &all, text)
}
