//! API groups and versions.

/// Splits `apps/v1`; the core group is empty.
pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
