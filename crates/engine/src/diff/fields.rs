//! The fields of a pod that decide about its probes, with their lines, and the source of each behaviour.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{ContainerList, Object};
use meshprobe_predict::predict::{Cause, WorkloadPrediction};
use meshprobe_yaml::{NodeRef, Span};

/// The fields of a container that decide about its probes.
const OF_CONTAINER: [&str; 7] = [
    "name",
    "ports",
    "restartPolicy",
    "startupProbe",
    "livenessProbe",
    "readinessProbe",
    "lifecycle",
];

/// The start of the path of a label of the pod.
pub(super) const LABEL: &str = "labels.";

/// A field of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The path, such as `containers[web].ports[8080].name`.
    pub(super) path: String,
    /// The value as written.
    pub(super) value: String,
    /// The line that sets it.
    pub(super) place: Label,
}

/// Returns the path of a container.
pub(super) fn container_path(list: ContainerList, name: &str) -> String {
    format!("{}[{name}]", list.key())
}

/// Returns the fields of a pod: its namespace and its labels, what its spec sets directly, and the ports and probes of its
/// containers.
pub(super) fn fields_of(pod: &WorkloadPrediction<'_>) -> Arc<[Field]> {
    if pod.handlers.is_empty() {
        return Arc::default();
    }
    let object = &pod.workload.object;
    let mut fields = Fields {
        object,
        found: Vec::new(),
    };
    let namespace = object.metadata().and_then(|all| all.get("namespace"));
    if let Some(namespace) = namespace {
        fields.add("namespace".to_owned(), namespace, 0);
    } else if let Some(to) = &object.destination {
        fields.found.push(Field {
            path: "namespace".to_owned(),
            value: to.namespace.to_owned(),
            place: Label {
                path: Arc::clone(&to.path),
                span: to.span,
                message: String::new(),
            },
        });
    }
    let template = &pod.workload.template;
    for label in template.labels().into_iter().flat_map(NodeRef::entries) {
        let key = label.key.text().unwrap_or_default();
        fields.add(format!("{LABEL}{key}"), label.value, 0);
    }
    for entry in template.spec.entries() {
        fields.add(
            entry.key.text().unwrap_or_default().to_owned(),
            entry.value,
            0,
        );
    }
    for container in template.containers() {
        let path = container_path(container.list, container.name());
        let entries = container.node.entries();
        for entry in entries {
            let key = entry.key.text().unwrap_or_default();
            if OF_CONTAINER.contains(&key) {
                fields.add(format!("{path}.{key}"), entry.value, DEPTH);
            }
        }
    }
    fields.found.into()
}

/// The number of levels below a field of a container: those of the headers of a probe.
const DEPTH: usize = 4;

struct Fields<'o, 't> {
    object: &'o Object<'t>,
    found: Vec<Field>,
}

impl<'t> Fields<'_, 't> {
    /// Adds a scalar, or the scalars in a mapping or list up to `depth` levels below it.
    fn add(&mut self, path: String, node: NodeRef<'t>, depth: usize) {
        if node.is_mapping() || node.is_sequence() {
            let Some(depth) = depth.checked_sub(1) else {
                return;
            };
            for entry in node.entries() {
                let key = entry.key.text().unwrap_or_default();
                self.add(format!("{path}.{key}"), entry.value, depth);
            }
            for (index, item) in node.items().enumerate() {
                let key = ["containerPort", "name"]
                    .iter()
                    .find_map(|key| item.get(key));
                let key = key.and_then(NodeRef::text);
                let key = key.map_or_else(|| index.to_string(), str::to_owned);
                self.add(format!("{path}[{key}]"), item, depth);
            }
            return;
        }
        let span: Span = node.span();
        self.found.push(Field {
            path,
            value: node.text().unwrap_or_default().to_owned(),
            place: self.object.label_at(span, ""),
        });
    }
}

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
