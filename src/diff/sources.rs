//! The sources of what Istio does to a handler, for the reports about facts that a user supposes.

use meshprobe_predict::predict::Cause;

/// What the live proof of meshprobe measured.
const MEASURED: &str = "measured: docs/evidence/live-proof.csv";
const APP_PROBE: &str = "pkg/kube/inject/app_probe.go";
const STATUS_SERVER: &str = "pilot/cmd/pilot-agent/status/server.go";
const AUTHORIZATION: &str = "pilot/pkg/security/authz/model";

/// Returns the file or the measurement that shows why a handler has its outcome; `None` if the manifests alone decide,
/// or another mesh.
pub(super) const fn source_of(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Forwarded
        | Cause::NotCaptured
        | Cause::PlaintextAtStrict
        | Cause::HttpsAtStrict
        | Cause::SidecarAccepts
        | Cause::HttpsAtHttpPort
        | Cause::GrpcAtHttp1Port
        | Cause::HttpAtHttp2Port
        | Cause::OutboundAccepted
        | Cause::StatusPortCaptured => MEASURED,
        Cause::Ambient | Cause::OtherHost => {
            "HOST_PROBE_SNAT_IP in cni/pkg/nodeagent/options.go: ztunnel does not receive the kubelet's packets"
        }
        Cause::NetworkPolicyDenies => {
            "HOST_PROBE_SNAT_IP in cni/pkg/nodeagent/options.go: the kubelet's packets have the source 169.254.7.127"
        }
        Cause::NetworkPluginDrops => "istio.io/docs/ambient/install/platform-prerequisites",
        Cause::NoMesh => "injectRequired in pkg/kube/inject/inject.go: the pod has no sidecar",
        Cause::PodRefused => "pkg/kube/inject/webhook.go",
        Cause::Rewritten
        | Cause::HostKept
        | Cause::HostDropped
        | Cause::StatusPortMismatch
        | Cause::StatusPortZero
        | Cause::PortOfAgent
        | Cause::EntryDropped
        | Cause::AgentCallsItself => APP_PROBE,
        Cause::RewrittenWithoutSidecar
        | Cause::RewrittenWithoutEntry
        | Cause::RewrittenOtherPort
        | Cause::HttpsAtAgent
        | Cause::AgentRefusesEnv
        | Cause::AgentTimeoutZero
        | Cause::PathMisread
        | Cause::ProtocolUnsupported
        | Cause::HostHeaderDropped => STATUS_SERVER,
        Cause::EntryReplaced => "mergeOrAppendProbers in pkg/kube/inject/webhook.go",
        Cause::BeforeSidecar => "reorderPod in pkg/kube/inject/webhook.go",
        Cause::AuthorizationDenies | Cause::AuthorizationCloses | Cause::AuthorizationUnknown => {
            AUTHORIZATION
        }
        Cause::NoNetwork
        | Cause::ForwardedByProxy
        | Cause::CheckedByHelper
        | Cause::Other(_)
        | Cause::PortUnresolved
        | Cause::PortOfOtherContainer
        | Cause::PortQuoted
        | Cause::PathWithoutHost
        | Cause::HookUnsupported
        | Cause::Malformed
        | Cause::HostForbidden
        | Cause::MissingHandler
        | Cause::Placeholder
        | Cause::MeshUnknown
        | Cause::MeshDecides => return None,
    })
}
