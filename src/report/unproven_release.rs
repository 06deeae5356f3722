//! The note about a release that is newer than the models.

use meshprobe_mesh::mesh::{Mesh, Version, newest_proven};

/// Returns the note that a release of `mesh` is newer than every release that was compared with meshprobe.
#[must_use]
pub fn unproven_release_note(mesh: Mesh, release: Version) -> String {
    let title = mesh.title();
    let proven = newest_proven(mesh).map_or_else(String::new, |proven| {
        format!(
            " {}, the newest release that was compared with meshprobe",
            proven.release
        )
    });
    format!("note: {title} {release} is newer than{proven}; predictions may be wrong")
}
