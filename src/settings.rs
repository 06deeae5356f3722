//! Resolved settings: plain data, after defaults, configuration file and flags are laid over
//! each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::finding::Severity;

/// The mesh to judge by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MeshKind {
    /// Decided from the tree.
    #[default]
    Auto,
    /// Istio with sidecars (and ambient where the tree says so).
    Istio,
    /// No mesh at all.
    None,
}

/// A release of a mesh, as far as behaviour depends on it: `1.28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major number.
    pub major: u16,
    /// The minor number.
    pub minor: u16,
}

impl Version {
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

    /// Reads `1.28`, `v1.28.3`, `1-28-3` and `1.31-alpha.0`.
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

/// The mode of mutual TLS on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MtlsMode {
    /// Plain text only.
    Disable,
    /// Both.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

impl MtlsMode {
    /// Returns the word of the `PeerAuthentication` API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "DISABLE",
            Self::Permissive => "PERMISSIVE",
            Self::Strict => "STRICT",
        }
    }
}

/// What to take for granted where no Namespace of the tree decides about injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InjectionAssumption {
    /// Injected where the workload or its namespace shows signs of the mesh.
    #[default]
    Evidence,
    /// Injected.
    All,
    /// Not injected.
    None,
}

/// Facts given by `--assume` (fills a gap) or `--override` (wins over the tree).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `injection`.
    pub injection: Option<InjectionAssumption>,
    /// `mtls`: the mesh-wide mode.
    pub mtls: Option<MtlsMode>,
    /// `rewrite`: the mesh default of the probe rewrite.
    pub rewrite: Option<bool>,
    /// `revision`: names that a control plane answers to.
    pub revisions: Vec<String>,
    /// `root-namespace`.
    pub root_namespace: Option<String>,
    /// `status-port`: the port of the agent.
    pub status_port: Option<u16>,
    /// `native-sidecars`.
    pub native_sidecars: Option<bool>,
    /// `cni`.
    pub cni: Option<bool>,
    /// `ambient`.
    pub ambient: Option<bool>,
}

/// How a rewrite carries the prober env.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// In the `proxy.istio.io/config` annotation.
    #[default]
    Sealed,
}

/// When findings make the run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailOn {
    /// At this severity and above.
    Severity(Severity),
    /// Never.
    Never,
}

impl Default for FailOn {
    fn default() -> Self {
        Self::Severity(Severity::Warning)
    }
}

/// What configuration says about one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleLevel {
    /// Reported with this severity.
    Severity(Severity),
    /// Not reported.
    Ignore,
}

/// Everything the model needs to know beside the manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `--mesh`.
    pub mesh: MeshKind,
    /// `--mesh-version`.
    pub mesh_version: Option<Version>,
    /// `--assume`.
    pub assume: Facts,
    /// `--override`.
    pub overrides: Facts,
    /// `--namespace`: of objects that name none.
    pub namespace: Option<String>,
    /// `--form`.
    pub form: Form,
    /// `--allow`: names of guards that may be passed.
    pub allow: BTreeSet<String>,
    /// `--fail-on`.
    pub fail_on: FailOn,
    /// Levels per rule id.
    pub rules: BTreeMap<String, RuleLevel>,
}
