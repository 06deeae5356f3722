//! Releases of meshes, with the precision on which behaviour depends.

use std::fmt;
use std::str::FromStr;

/// A release of a mesh, such as `1.28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major number.
    pub major: u16,
    /// The minor number.
    pub minor: u16,
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
        Self { major, minor }
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
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
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
        assert!("latest".parse::<Version>().is_err());
        assert!("1".parse::<Version>().is_err());
        assert!(Version::new(1, 9) < Version::new(1, 10));
    }
}
