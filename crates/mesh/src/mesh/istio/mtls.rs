//! The mutual TLS mode that results from `PeerAuthentication`s.
//!
//! Source: Istio 1.31, `pilot/pkg/security/authn/policy_applier.go`.

/// The mutual TLS mode of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MtlsMode {
    /// Plain text only.
    Disable,
    /// Plain text and mutual TLS.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

impl MtlsMode {
    /// Returns the value of the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "DISABLE",
            Self::Permissive => "PERMISSIVE",
            Self::Strict => "STRICT",
        }
    }

    /// Parses the value of the API; `UNSET` and anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "DISABLE" => Some(Self::Disable),
            "PERMISSIVE" => Some(Self::Permissive),
            "STRICT" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// The modes of the policies that apply to a workload; `None` means no policy, or UNSET.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// The policy of the whole mesh.
    pub mesh: Option<MtlsMode>,
    /// The policy of the namespace.
    pub namespace: Option<MtlsMode>,
    /// The policy that selects the workload.
    pub workload: Option<MtlsMode>,
    /// The mode of the workload's policy for the port.
    pub port: Option<MtlsMode>,
}

/// The scope whose policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// No policy sets a mode: PERMISSIVE.
    NoPolicy,
    /// The mesh's policy.
    Mesh,
    /// The namespace's policy.
    Namespace,
    /// The workload's policy.
    Workload,
    /// The workload's policy, for this port.
    Port,
}

impl Scopes {
    /// Returns the effective mode and the scope that decides: the narrowest one that sets a mode.
    #[must_use]
    pub fn effective(&self) -> (MtlsMode, Decider) {
        let scopes = [
            (self.port, Decider::Port),
            (self.workload, Decider::Workload),
            (self.namespace, Decider::Namespace),
            (self.mesh, Decider::Mesh),
        ];
        scopes
            .into_iter()
            .find_map(|(mode, decider)| Some((mode?, decider)))
            .unwrap_or((MtlsMode::Permissive, Decider::NoPolicy))
    }
}
