//! Releases in tags, chart versions and names of revisions.

use crate::mesh::Version;

/// Reads the release from an image tag such as `1.26.1-distroless`.
pub(super) fn of_tag(tag: &str) -> Option<Version> {
    // Dates and hashes are used as tags, too.
    tag.parse()
        .ok()
        .filter(|version: &Version| version.major == 1)
}

/// Reads the release from the tag of an image name; `None` if the tag contains no release.
#[must_use]
pub fn version_of_image(image: &str) -> Option<Version> {
    let name = image.split('@').next()?;
    let (_, tag) = name
        .rsplit_once(':')
        .filter(|(_, tag)| !tag.contains('/'))?;
    of_tag(tag)
}

/// The exactness of a chart version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exactness {
    /// One release.
    Release,
    /// At least this one.
    AtLeast,
}

/// Reads the release that the version of a chart, or a range, allows: the lowest release of a range.
/// Source of the syntax: `github.com/Masterminds/semver` 3, "Checking Version Constraints".
pub(super) fn of_chart_version(text: &str) -> Option<(Version, Exactness)> {
    let text = text.trim();
    let first = text
        .split([',', ' ', '|'])
        .find(|part| part.contains('.'))?;
    let bare = first.trim_start_matches(['=', '~', '>', '^']);
    let version: Version = bare.parse().ok()?;
    // A range allows later patch levels.
    let is_range = text.starts_with('~') || text.ends_with(['x', 'X', '*']);
    let is_open = text.starts_with(['>', '^']) || text.contains("||") || text.contains(" - ");
    let exactness = if is_open {
        Exactness::AtLeast
    } else {
        Exactness::Release
    };
    let is_patch_known = exactness == Exactness::Release && !is_range;
    let version = version.with_patch(version.patch().filter(|_| is_patch_known));
    Some((version, exactness))
}

/// Reads the release from the name of a revision, by convention `1-26-8` or `default-v1-26-8`.
///
/// Source: "Canary Upgrades" of Istio's documentation; Sail operator 1.0, `pkg/revision`.
#[must_use]
pub fn version_of_revision(name: &str) -> Option<Version> {
    let parts: Vec<&str> = name.split('-').collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let count = parts
        .iter()
        .rev()
        .take_while(|part| is_number(part))
        .count();
    let (head, tail) = parts.split_at_checked(parts.len().checked_sub(count)?)?;
    let major = head.last().and_then(|part| part.strip_prefix('v'));
    let numbers: Vec<&str> = major.into_iter().chain(tail.iter().copied()).collect();
    let (&major, rest) = numbers.split_first()?;
    let minor = rest.first()?.parse().ok()?;
    let patch = rest.get(1).and_then(|patch| patch.parse().ok());
    (major == "1" && minor < 1000).then(|| Version::new(1, minor).with_patch(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_26: Option<Version> = Some(Version::new(1, 26));

    #[test]
    fn releases_are_read_from_images_and_tags() {
        assert_eq!(
            version_of_image("registry.example/istio/pilot:1.26.1-distroless"),
            V1_26
        );
        assert_eq!(version_of_image("registry.example:5000/istio/pilot"), None);
        assert_eq!(
            version_of_image("registry.example/istio/pilot:1.26.1@sha256:00"),
            V1_26
        );
        assert_eq!(of_tag("20250101"), None);
        assert_eq!(of_tag("2025.01.1"), None);
        assert_eq!(of_tag("1.26-alpha.0"), V1_26);
    }

    #[test]
    fn releases_are_read_from_chart_versions_and_ranges() {
        let exact = |text| of_chart_version(text).filter(|(_, how)| *how == Exactness::Release);
        for text in ["1.26.1", "v1.26.1", "1.26.x", "~1.26.0", "=1.26.0", "1.26"] {
            assert_eq!(exact(text).map(|(version, _)| version), V1_26, "{text}");
        }
        for text in [
            ">=1.26.0",
            "^1.26.0",
            ">= 1.26.0, < 1.29.0",
            "1.26.0 - 1.28.0",
        ] {
            assert_eq!(
                of_chart_version(text),
                Some((Version::new(1, 26), Exactness::AtLeast)),
                "{text}"
            );
        }
        for text in ["*", "", "main", "latest"] {
            assert_eq!(of_chart_version(text), None, "{text}");
        }
    }

    #[test]
    fn releases_are_read_from_names_of_revisions() {
        for name in [
            "1-26-8",
            "1-26",
            "v1-26-8",
            "default-v1-26-8",
            "istio-1-26-8",
            "asm-1-26",
        ] {
            assert_eq!(version_of_revision(name), V1_26, "{name}");
        }
        for name in ["canary", "prod", "asm-176-1", "1", "", "asm-managed"] {
            assert_eq!(version_of_revision(name), None, "{name}");
        }
    }
}
