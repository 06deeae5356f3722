//! Changes of behaviour that patch releases brought, too.

use super::version::Version;

/// A change of behaviour: the first minor release with it, and the patch releases of earlier ones that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChange {
    since: Version,
    /// Minor releases, each with the first patch level that has the change.
    backports: &'static [(u16, u16)],
}

impl ReleaseChange {
    /// Returns the change that came with `since`, and with the patch levels of earlier minor releases.
    #[must_use]
    pub const fn new(since: Version, backports: &'static [(u16, u16)]) -> Self {
        Self { since, backports }
    }

    /// Returns whether a release has the change. The newest patch level is assumed if none is known, and the newest release
    /// if that is not known either.
    #[must_use]
    pub fn is_in(&self, release: Option<Version>) -> bool {
        let Some(release) = release else {
            return true;
        };
        let is_new_patch = |first| release.patch().is_none_or(|patch| patch >= first);
        release >= self.since || self.backport(release).is_some_and(is_new_patch)
    }

    /// Returns whether only the patch level, which is not known, decides.
    #[must_use]
    pub fn depends_on_patch(&self, release: Option<Version>) -> bool {
        release.is_some_and(|release| {
            release < self.since && release.patch().is_none() && self.backport(release).is_some()
        })
    }

    fn backport(&self, release: Version) -> Option<u16> {
        let is_same = |minor: u16| release.major == self.since.major && release.minor == minor;
        let mut backports = self.backports.iter();
        backports
            .find(|(minor, _)| is_same(*minor))
            .map(|&(_, patch)| patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
