//! The sources of the cells.

use meshprobe::mesh::SetupSource;
use meshprobe::predict::Cause;

use super::evidence::Measured;
use super::setups::MatrixSetup;

/// How much a source proves, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// The outcome was measured.
    Measured,
    /// The code of the project decides it.
    Code,
    /// The documentation describes it.
    Documentation,
}

impl SourceKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Code => "code",
            Self::Documentation => "documentation",
        }
    }
}

/// The source of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) kind: SourceKind,
    /// Project, release and file.
    pub(super) text: String,
    /// The file in `docs/evidence` and the rows that were measured; empty for other kinds.
    pub(super) evidence: String,
}

impl Source {
    /// Notes that the outcome was measured, too.
    pub(super) fn measure(&mut self, measured: &Measured) {
        self.kind = SourceKind::Measured;
        self.evidence.clone_from(&measured.rows);
    }
}

/// Returns the source of a cause in a configuration.
pub(super) fn source(setup: &MatrixSetup, cause: Cause, is_istio: bool) -> Source {
    let (kind, text) = match setup.source {
        _ if is_of_kubernetes(cause) => (SourceKind::Code, of_kubernetes(cause)),
        Some(SetupSource::Code(text)) => (SourceKind::Code, text),
        Some(SetupSource::Documentation(text)) => (SourceKind::Documentation, text),
        None if is_istio => (SourceKind::Code, of_istio(cause)),
        None => (
            SourceKind::Code,
            "Kubernetes 1.36, pkg/kubelet/prober/prober.go",
        ),
    };
    assert!(!text.is_empty(), "{setup:?}");
    Source {
        kind,
        text: text.to_owned(),
        evidence: String::new(),
    }
}

const fn is_of_kubernetes(cause: Cause) -> bool {
    matches!(cause, Cause::NoNetwork | Cause::Malformed)
}

const fn of_kubernetes(cause: Cause) -> &'static str {
    match cause {
        Cause::Malformed => "Kubernetes 1.37.2, pkg/apis/core/validation/validation.go",
        _ => "Kubernetes 1.36, pkg/probe/exec/exec.go",
    }
}

/// Returns the source in Istio; the same files as in the comments of `crates/mesh/src/mesh/istio` and
/// `crates/predict/src/predict/istio`.
fn of_istio(cause: Cause) -> &'static str {
    match cause {
        Cause::Rewritten => {
            "Istio 1.10 to 1.31, pkg/kube/inject/app_probe.go and pilot/cmd/pilot-agent/status/server.go"
        }
        Cause::NotCaptured => "Istio 1.31, tools/istio-iptables/pkg/capture/run.go",
        Cause::PlaintextAtStrict | Cause::HttpsAtStrict | Cause::Forwarded => {
            "Istio 1.31, pilot/pkg/security/authn/policy_applier.go and pkg/config/kube/conversion.go"
        }
        Cause::SidecarAccepts => {
            "Istio 1.31, tools/istio-iptables/pkg/capture/run.go; Envoy accepts every connection"
        }
        Cause::AuthorizationDenies | Cause::AuthorizationCloses => {
            "Istio 1.31, pilot/pkg/security/authz/model/model.go and builder.go"
        }
        Cause::BeforeSidecar => "Istio 1.31, pkg/kube/inject/webhook.go (reorderPod)",
        Cause::Ambient => "Istio 1.31, cni/pkg/nodeagent/options.go",
        Cause::NoMesh => "Istio 1.31, pkg/kube/inject/inject.go",
        other => panic!("no source for {other:?}"),
    }
}
