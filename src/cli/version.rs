//! The output of `--version`.

use meshprobe_mesh::mesh::{self, ProvenRelease};

/// Returns the version of the program; in the long form also the newest proven release of each mesh.
pub(super) fn text(is_verbose: bool) -> String {
    let mut text = format!("meshprobe {}\n", env!("CARGO_PKG_VERSION"));
    if is_verbose {
        text.push_str(
            "\nNewest release of each mesh that was compared with meshprobe (docs/oracles.md):\n",
        );
        for mesh in mesh::all() {
            let proven = mesh::newest_proven(mesh).map_or_else(|| "none".to_owned(), describe);
            text.push_str(&format!("  {}: {proven}\n", mesh.title()));
        }
    }
    text
}

fn describe(proven: ProvenRelease) -> String {
    let ProvenRelease {
        release,
        reference,
        commit,
        pods,
    } = proven;
    format!("{release} ({reference}, commit {commit}, {pods} pods)")
}
