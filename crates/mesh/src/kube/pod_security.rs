//! Pod Security Admission: the labels of a Namespace, and the check of hosts in probes and hooks.
//!
//! Source: `k8s.io/pod-security-admission`, `policy/check_hostProbesAndhostLifecycle.go` (level `baseline` and higher,
//! since version 1.34) and `api/helpers.go` (the version is `latest` or `vMAJOR.MINOR`); KEP-4940.

use meshprobe_yaml::Entry;

use super::object::Object;

/// Label of a Namespace with the level that its pods must have.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Label of a Namespace with the version of that level.
const ENFORCE_VERSION: &str = "pod-security.kubernetes.io/enforce-version";

/// The first minor version of Kubernetes 1 whose levels forbid hosts.
pub const FORBIDS_HOSTS: u16 = 34;

/// The version of an enforced level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnforcedVersion {
    /// That of the API server.
    Latest,
    /// The minor version of Kubernetes 1.
    Minor(u16),
}

/// A level that the API server enforces in a Namespace, and that forbids hosts if its version is recent enough.
#[derive(Clone, Copy, Debug)]
pub struct EnforcedLevel<'t> {
    /// The label with the level.
    pub entry: Entry<'t>,
    /// The version of the level.
    pub version: EnforcedVersion,
}

impl<'t> EnforcedLevel<'t> {
    /// Reads the labels of a Namespace; `None` if its level does not forbid hosts, or a label cannot be read.
    #[must_use]
    pub fn of(namespace: &Object<'t>) -> Option<Self> {
        let entry = namespace.label(ENFORCE)?;
        let is_strict = matches!(entry.value.text(), Some("baseline" | "restricted"));
        let version = match namespace.label(ENFORCE_VERSION) {
            None => EnforcedVersion::Latest,
            Some(entry) => parse(entry.value.text()?)?,
        };
        let forbids = match version {
            EnforcedVersion::Latest => true,
            EnforcedVersion::Minor(minor) => minor >= FORBIDS_HOSTS,
        };
        (is_strict && forbids).then_some(Self { entry, version })
    }
}

/// Parses a version as the API server does; the empty text is `latest`.
fn parse(text: &str) -> Option<EnforcedVersion> {
    if text.is_empty() || text == "latest" {
        return Some(EnforcedVersion::Latest);
    }
    let minor = text.strip_prefix("v1.")?;
    let is_canonical = minor == "0" || !minor.starts_with('0');
    let is_number = is_canonical && minor.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| minor.parse().ok().map(EnforcedVersion::Minor))?
}
