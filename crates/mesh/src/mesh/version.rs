//! Releases of meshes, with the precision on which behaviour depends.
//!
//! Changes of behaviour that patch releases brought, too.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// A release of a mesh, such as `1.28` or `1.28.3`. Only the major and the minor number are compared and printed;
/// [`ReleaseChange`](super::ReleaseChange) compares patch levels.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// The major number.
    pub major: u16,
    /// The minor number.
    pub minor: u16,
    /// The patch level; `None` if it is not known.
    patch: Option<u16>,
}

impl Version {
    /// The first release of Istio.
    pub const FIRST_ISTIO: Self = Self::new(1, 0);
    /// The oldest release of Istio whose predictions are modelled; rules also cover faults of earlier releases.
    pub const FIRST_MODELLED_ISTIO: Self = Self::new(1, 10);
    /// The latest release of Istio that is modelled; later ones are treated like it.
    pub const LAST_ISTIO: Self = Self::new(1, 31);

    /// Returns the version `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self {
            major,
            minor,
            patch: None,
        }
    }

    /// Returns the version with a patch level.
    #[must_use]
    pub const fn with_patch(self, patch: Option<u16>) -> Self {
        Self { patch, ..self }
    }

    /// Returns the patch level; `None` if it is not known.
    #[must_use]
    pub const fn patch(self) -> Option<u16> {
        self.patch
    }

    const fn compared(self) -> (u16, u16) {
        (self.major, self.minor)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.compared() == other.compared()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compared().cmp(&other.compared())
    }
}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.compared().hash(state);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses `1.28`, `v1.28.3`, `1-28-3` (as in revision names) and `1.31-alpha.0`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim().trim_start_matches('v').replace('-', ".");
        let mut parts = bare.split('.');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(Self::new(major, minor).with_patch(number())),
            _ => Err(format!("`{text}` is not a version such as 1.28")),
        }
    }
}

/// A change of behaviour: the first release with it, the patch releases of earlier ones that have it, and the first
/// release that lost it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChange {
    since: Version,
    /// Minor releases, each with the first patch level that has the change.
    backports: &'static [(u16, u16)],
    /// The first release without the change, after those that have it.
    until: Option<Version>,
}

impl ReleaseChange {
    /// The option that states the patch level on which a fact depends.
    pub const SETTLE: &'static str = "--mesh-version 1.N.P";

    /// Returns the change that came with `since`, and with the patch levels of earlier minor releases.
    #[must_use]
    pub const fn new(since: Version, backports: &'static [(u16, u16)]) -> Self {
        Self {
            since,
            backports,
            until: None,
        }
    }

    /// Returns the same change for a behaviour that `release` lost.
    #[must_use]
    pub const fn until(self, release: Version) -> Self {
        Self {
            until: Some(release),
            ..self
        }
    }

    /// Returns whether a release has the change. The newest patch level is assumed if none is known, and the newest release
    /// if that is not known either.
    #[must_use]
    pub fn is_in(&self, release: Option<Version>) -> bool {
        let Some(release) = release else {
            return self.until.is_none();
        };
        let is_new_patch = |first| release.patch().is_none_or(|patch| patch >= first);
        let has_started =
            is_at_least(release, self.since) || self.backport(release).is_some_and(is_new_patch);
        has_started && !self.until.is_some_and(|lost| is_at_least(release, lost))
    }

    /// Returns whether only the patch level, which is not known, decides.
    #[must_use]
    pub fn depends_on_patch(&self, release: Option<Version>) -> bool {
        release.is_some_and(|release| {
            let is_open = release.patch().is_none();
            is_open && (self.first_patch(release).is_some() || self.lost_patch(release).is_some())
        })
    }

    /// Returns the first patch level of a minor release that has the change; `None` if all of them have it, or none.
    #[must_use]
    pub fn first_patch(&self, release: Version) -> Option<u16> {
        patch_of(self.since, release).or_else(|| self.backport(release))
    }

    /// Returns the first patch level of a minor release that lost the change; `None` if there is none.
    #[must_use]
    pub fn lost_patch(&self, release: Version) -> Option<u16> {
        patch_of(self.until?, release)
    }

    fn backport(&self, release: Version) -> Option<u16> {
        let is_same = |minor: u16| release.major == self.since.major && release.minor == minor;
        let mut backports = self.backports.iter();
        backports
            .find(|(minor, _)| is_same(*minor))
            .map(|&(_, patch)| patch)
    }
}

/// Returns the patch level of a limit within a minor release.
fn patch_of(limit: Version, release: Version) -> Option<u16> {
    let patch = limit.patch().filter(|patch| *patch > 0);
    patch.filter(|_| limit == release)
}

/// Returns whether a release is a limit or later. The newest patch level is assumed if none is known.
fn is_at_least(release: Version, limit: Version) -> bool {
    let is_new_patch = || {
        let levels = release.patch().zip(limit.patch());
        levels.is_none_or(|(patch, first)| patch >= first)
    };
    release > limit || release == limit && is_new_patch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_in_all_common_spellings() {
        for text in ["1.28", "v1.28.3", "1-28-3", "1.28-alpha.0", " 1.28 "] {
            assert_eq!(text.parse(), Ok(Version::new(1, 28)), "{text}");
        }
        let patch = |text: &str| text.parse::<Version>().unwrap().patch();
        assert_eq!((patch("v1.28.3"), patch("1-28-10")), (Some(3), Some(10)));
        assert_eq!((patch("1.28"), patch("1.28-alpha.0")), (None, None));
        assert_eq!(patch("1.29.0-rc.0"), Some(0));
        assert!("latest".parse::<Version>().is_err());
        assert!("1".parse::<Version>().is_err());
        assert!(Version::new(1, 9) < Version::new(1, 10));
    }

    #[test]
    fn a_change_is_in_its_release_and_in_later_patches_of_earlier_ones() {
        let change = ReleaseChange::new(Version::new(1, 29), &[(27, 6), (28, 4)]);
        let is_in = |text: &str| change.is_in(text.parse().ok());
        for text in [
            "1.29",
            "1.29.0-rc.0",
            "1.30.1",
            "1.28.4",
            "1.28.10",
            "1.27.6",
            "1.28",
            "latest",
        ] {
            assert!(is_in(text), "{text}");
        }
        for text in ["1.26", "1.26.9", "1.27.5", "1.28.0", "1.28.3"] {
            assert!(!is_in(text), "{text}");
        }
        let depends = |text: &str| change.depends_on_patch(text.parse().ok());
        assert!(depends("1.28") && depends("1.27-alpha.0"));
        assert!(!depends("1.28.4") && !depends("1.26") && !depends("1.29") && !depends("latest"));
    }

    #[test]
    fn a_change_can_be_lost() {
        let patch = |minor, patch| Version::new(1, minor).with_patch(Some(patch));
        let change = ReleaseChange::new(patch(18, 1), &[]).until(patch(18, 3));
        let has = |text: &str| change.is_in(text.parse().ok());
        assert!(has("1.18.1") && has("1.18.2"));
        for text in ["1.17", "1.18.0", "1.18.3", "1.18", "1.19", "latest"] {
            assert!(!has(text), "{text}");
        }
        let depends = |text: &str| change.depends_on_patch(text.parse().ok());
        assert!(depends("1.18") && !depends("1.18.0") && !depends("1.17"));
        let release = Version::new(1, 18);
        assert_eq!(change.first_patch(release), Some(1));
        assert_eq!(change.lost_patch(release), Some(3));
        assert_eq!(change.first_patch(Version::new(1, 19)), None);
    }
}
