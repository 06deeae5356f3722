//! Ranges of releases with the same behaviour.

use crate::mesh::{Fact, Mesh, Version};

/// The number that represents the development head after the last release.
pub(super) const HEAD: Version = Version::new(1, 3);

/// Ranges of releases that treat probes in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 0.7 and 0.8: `httpGet` in plain text only.
    HttpOnly,
    /// 0.9 to 1.0: `tcpSocket` is not rewritten and targets the proxy, which accepts everything.
    TcpAccepted,
    /// 1.1 and 1.2: one listener per kind of probe and pod.
    PerKind,
    /// The development head after 1.2, never released: one route per container.
    PerContainer,
}

impl Era {
    /// Returns the era of a release; without a release, that of 1.2, the last one.
    #[must_use]
    pub fn of(release: Option<Version>) -> Self {
        match release {
            Some(release) if release < Version::new(0, 9) => Self::HttpOnly,
            Some(release) if release < Version::new(1, 1) => Self::TcpAccepted,
            Some(release) if release > Version::new(1, 2) => Self::PerContainer,
            _ => Self::PerKind,
        }
    }
}

/// Returns the release to apply.
pub(super) fn fact(given: Option<Version>) -> Fact<Option<Version>> {
    let option = Mesh::OSM.settle_release();
    match given {
        Some(release) if release > Version::new(1, 2) => Fact::settled(
            Some(release),
            "the development head of OSM (--mesh-version)",
        ),
        Some(release) => Fact::settled(Some(release), format!("OSM {release} (--mesh-version)")),
        None => Fact::default(None, "the release is OSM 1.2, the last release", option),
    }
}
