//! The mode of mutual TLS that `PeerAuthentication`s add up to.
//!
//! Source: Istio 1.31, `pilot/pkg/security/authn/policy_applier.go`.

/// The mode that holds on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MtlsMode {
    /// Plain text only.
    Disable,
    /// Both.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

impl MtlsMode {
    /// Returns the word of the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "DISABLE",
            Self::Permissive => "PERMISSIVE",
            Self::Strict => "STRICT",
        }
    }

    /// Reads the word of the API; `UNSET` and anything else is `None`.
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

/// The modes of the policies that hold for a workload; `None` stands for no policy and for UNSET.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// The policy of the whole mesh.
    pub mesh: Option<MtlsMode>,
    /// The policy of the namespace.
    pub namespace: Option<MtlsMode>,
    /// The policy that selects the workload.
    pub workload: Option<MtlsMode>,
    /// What the workload's policy says about the port.
    pub port: Option<MtlsMode>,
}

/// The scope whose policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// No policy says anything: PERMISSIVE.
    Nobody,
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
    /// Returns the mode that holds and the scope that decides: the narrowest that says anything.
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
            .unwrap_or((MtlsMode::Permissive, Decider::Nobody))
    }
}
