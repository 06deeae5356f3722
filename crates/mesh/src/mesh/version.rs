//! Releases of meshes, with the precision on which behaviour depends.

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
}
