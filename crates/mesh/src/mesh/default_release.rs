//! The release of a mesh if the user sets none.

use super::fact::Fact;
use super::name::Mesh;
use super::version::Version;

/// Returns the release that the user sets for a mesh; without one, `latest` describes the default.
pub(super) fn release_of(
    mesh: Mesh,
    given: Option<Version>,
    latest: &'static str,
) -> Fact<Option<Version>> {
    match given {
        Some(release) => {
            let message = format!("{} {release} (--mesh-version)", mesh.title());
            Fact::settled(Some(release), message)
        }
        None => Fact::default(None, latest, mesh.settle_release()),
    }
}
