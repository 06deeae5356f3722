//! Evidence in a tree for the mesh that a pod belongs to.
//!
//! Decides from the API group and the kind of an object which facts it can state.
//!
//! The inventory and the rendering of kustomizations both use it, so that they know the same kinds. Each mesh
//! declares its kinds in its `MeshMarkers`.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::description::Mesh;
use super::model::MeshDefinition;
use super::registry::{DEFINITIONS, rank_of};
use crate::finding::Label;
use crate::kube::{ContainerList, Object, Workload, may_create_pods, runs_pods};

/// The strength of the evidence; the strongest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceStrength {
    /// The mesh is installed somewhere in the tree.
    Install,
    /// The pod or its Namespace has a key of the mesh, which may also switch it off.
    Mention,
    /// The namespace contains an object of the mesh.
    Object,
    /// The Namespace enables the mesh, or is meant to.
    Namespace,
    /// The pod enables the mesh, or is meant to.
    Pod,
    /// The pod contains the proxy of the mesh.
    Sidecar,
}

/// One piece of evidence for a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The mesh.
    pub mesh: Mesh,
    /// Its strength.
    pub weight: EvidenceStrength,
    /// Its position, with a message.
    pub place: Label,
}

impl Evidence {
    /// Returns the key by which evidence is sorted, the strongest first.
    pub fn rank(&self) -> (std::cmp::Reverse<EvidenceStrength>, usize) {
        (std::cmp::Reverse(self.weight), rank_of(self.mesh))
    }
}

/// Values that switch a mesh off, in lower case.
const OFF: [&str; 6] = ["disabled", "false", "no", "none", "off", ""];

/// Returns the mesh whose objects have this API group.
#[must_use]
pub fn mesh_of_group(group: &str) -> Option<Mesh> {
    DEFINITIONS
        .iter()
        .find(|definition| definition.markers.groups.contains(&group))
        .map(|definition| definition.mesh)
}

/// Returns whether objects of this kind may be facts for a mesh that is not Istio; if not, they
/// certainly are none.
#[must_use]
pub fn may_be_fact(group: &str, kind: &str) -> bool {
    DEFINITIONS
        .iter()
        .filter(|definition| definition.mesh != Mesh::ISTIO)
        .map(|definition| &definition.markers)
        .any(|markers| markers.groups.contains(&group) || markers.shared(group, kind).is_some())
}

/// Returns whether a label or an annotation with this key may affect a mesh.
#[must_use]
pub fn is_key_of_mesh(key: &str) -> bool {
    DEFINITIONS
        .iter()
        .flat_map(|definition| definition.markers.prefixes)
        .any(|prefix| key.starts_with(prefix))
}

/// Returns the mesh that a Namespace joins by a label or annotation.
#[must_use]
pub fn enabled_mesh(key: &str, value: &str) -> Option<Mesh> {
    let definition = DEFINITIONS
        .iter()
        .find(|definition| definition.markers.switches.contains(&key))?;
    let mut values = definition.markers.values.iter();
    let is_on = match values.find(|(switch, _)| *switch == key) {
        Some((_, only)) => value == *only,
        None => !OFF.contains(&value.to_lowercase().as_str()),
    };
    is_on.then_some(definition.mesh)
}

/// Returns the mesh that a definition of objects of this API group installs; `None` for Istio.
#[must_use]
pub fn defined_mesh(group: &str) -> Option<Mesh> {
    mesh_of_group(group).filter(|mesh| *mesh != Mesh::ISTIO)
}

/// Returns the mesh of an object, and whether the object defines such objects, which is evidence of an
/// installation; `None` for all others, and for Istio's own objects.
#[must_use]
pub fn of_object(object: &Object<'_>) -> Option<(Mesh, bool)> {
    if object.kind == DEFINITION {
        let group = object.node.get("spec")?.get("group")?.text()?;
        return Some((defined_mesh(group)?, true));
    }
    let mesh = mesh_of_group(object.group()).or_else(|| by_content(object))?;
    (mesh != Mesh::ISTIO).then_some((mesh, false))
}

/// The kind of objects that define others.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// Returns the mesh of an object of a shared kind.
fn by_content(object: &Object<'_>) -> Option<Mesh> {
    let spec = object.node.get("spec")?;
    let definition = DEFINITIONS.iter().find(|definition| {
        let shared = definition.markers.shared(object.group(), object.kind);
        shared.is_some_and(|shared| (shared.is_fact)(spec))
    });
    definition.map(|definition| definition.mesh)
}

/// Returns the evidence of a pod and its Namespace, for every mesh.
#[must_use]
pub fn evidence<'t>(workload: &Workload<'t>, namespace: Option<&Object<'t>>) -> Vec<Evidence> {
    let pod = PodMarkers::of(workload);
    let metadata = namespace.and_then(Object::metadata);
    let of_namespace = |key: &str| metadata?.get(key);
    let namespace = namespace.zip(Some(keys([
        of_namespace("labels"),
        of_namespace("annotations"),
    ])));
    let mut found = Vec::new();
    for definition in DEFINITIONS {
        found.extend(definition.at_pod(&workload.object, &pod));
        let keys = namespace.iter();
        found.extend(keys.flat_map(|(object, keys)| {
            definition.in_keys(object, keys, EvidenceStrength::Namespace, "the Namespace")
        }));
    }
    found
}

/// The key of a label or annotation, and its entry.
type KeyEntry<'t> = (&'t str, Entry<'t>);

/// The parts of a pod that may be evidence for a mesh.
struct PodMarkers<'t> {
    /// Its labels and annotations.
    keys: Vec<KeyEntry<'t>>,
    /// The names of its containers, without partial containers, which are only a request.
    containers: Vec<NodeRef<'t>>,
    /// The names of its volumes.
    volumes: Vec<NodeRef<'t>>,
}

impl<'t> PodMarkers<'t> {
    fn of(workload: &Workload<'t>) -> Self {
        let template = &workload.template;
        let containers = [ContainerList::Main, ContainerList::Init]
            .into_iter()
            .flat_map(|list| template.names_in(list))
            .filter(|(_, node)| node.get("image").and_then(NodeRef::text) != Some("auto"))
            .filter_map(|(_, node)| node.get("name"));
        let volumes = template
            .spec
            .get("volumes")
            .into_iter()
            .flat_map(NodeRef::items);
        Self {
            keys: keys([template.labels(), template.annotations()]),
            containers: containers.collect(),
            volumes: volumes.filter_map(|volume| volume.get("name")).collect(),
        }
    }
}

fn keys<'t>(holders: [Option<NodeRef<'t>>; 2]) -> Vec<KeyEntry<'t>> {
    holders
        .into_iter()
        .flatten()
        .flat_map(NodeRef::entries)
        .filter_map(|entry| Some((entry.key.text()?, entry)))
        .collect()
}

impl MeshDefinition {
    fn at_pod(&self, object: &Object<'_>, pod: &PodMarkers<'_>) -> Vec<Evidence> {
        let mut found = self.in_keys(object, &pod.keys, EvidenceStrength::Pod, "the pod");
        let among =
            |name: &&NodeRef<'_>, known: &[&str]| known.contains(&name.text().unwrap_or_default());
        let containers = pod
            .containers
            .iter()
            .filter(|name| among(name, self.markers.containers));
        let volumes = pod
            .volumes
            .iter()
            .filter(|name| among(name, self.markers.volumes));
        found.extend(containers.chain(volumes).map(|name| {
            let message = format!("the pod contains the proxy of {}", self.mesh.title());
            self.evidence(
                EvidenceStrength::Sidecar,
                object.label_at(name.span(), message),
            )
        }));
        found
    }

    fn in_keys(
        &self,
        object: &Object<'_>,
        keys: &[KeyEntry<'_>],
        weight: EvidenceStrength,
        subject: &str,
    ) -> Vec<Evidence> {
        keys.iter()
            .filter(|(key, _)| {
                self.markers
                    .prefixes
                    .iter()
                    .any(|prefix| key.starts_with(prefix))
            })
            .map(|(key, entry)| {
                let title = self.mesh.title();
                let is_meant = self.markers.switches.contains(key) && is_on(entry);
                let weight = if is_meant {
                    weight
                } else {
                    EvidenceStrength::Mention
                };
                let verb = if is_meant && self.is_valid(key, entry) {
                    "enables"
                } else {
                    "refers to"
                };
                let message = format!("{subject} {verb} {title}");
                self.evidence(weight, object.label_at(entry.key.span(), message))
            })
            .collect()
    }

    /// Returns whether the mesh knows the value of a switch. A misspelt value is evidence as well, but has no effect.
    fn is_valid(&self, key: &str, entry: &Entry<'_>) -> bool {
        let mut values = self.markers.values.iter();
        values
            .find(|(switch, _)| *switch == key)
            .is_none_or(|(_, value)| entry.value.text() == Some(value))
    }

    const fn evidence(&self, weight: EvidenceStrength, place: Label) -> Evidence {
        Evidence {
            mesh: self.mesh,
            weight,
            place,
        }
    }
}

fn is_on(entry: &Entry<'_>) -> bool {
    let value = entry.value.text().unwrap_or_default();
    !OFF.contains(&value.to_lowercase().as_str()) && !placeholder::contains(value)
}

/// Returns the strongest evidence of each mesh that the pod or its Namespace enables, in the given order.
pub fn strongest_claims(all: &[Evidence]) -> Vec<&Evidence> {
    let mut found: Vec<&Evidence> = Vec::new();
    for claim in all {
        let is_new = found.iter().all(|other| other.mesh != claim.mesh);
        if is_new && claim.weight >= EvidenceStrength::Namespace {
            found.push(claim);
        }
    }
    found
}

/// Returns the evidence of the other meshes that claim a pod, without the first one.
pub fn rivals_of_first(all: &[Evidence]) -> Vec<&Evidence> {
    strongest_claims(all).into_iter().skip(1).collect()
}

/// The kind of fact that an object may state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A `v1` Namespace.
    Namespace,
    /// A `v1` Service.
    Service,
    /// A `PeerAuthentication` of Istio.
    PeerAuthentication,
    /// An `AuthorizationPolicy` of Istio.
    AuthorizationPolicy,
    /// A `NetworkPolicy` of Kubernetes.
    NetworkPolicy,
    /// A `Sidecar` of Istio.
    Sidecar,
    /// An `EnvoyFilter` of Istio.
    EnvoyFilter,
    /// A `ProxyConfig` of Istio.
    ProxyConfig,
    /// A `WorkloadGroup` of Istio.
    WorkloadGroup,
    /// A `WorkloadEntry` of Istio.
    WorkloadEntry,
    /// An object of `authentication.istio.io`.
    LegacyPolicy,
    /// An object that states the network plugin of the cluster.
    NetworkPlugin,
    /// A policy of a network plugin, which is not evaluated. Those of Cilium are [`Self::OfMesh`].
    PluginPolicy,
    /// A `SecurityGroupPolicy` of the AWS VPC CNI.
    SecurityGroupPolicy,
    /// It may be an object of another mesh; its content decides.
    OfMesh,
    /// A definition of objects. It shows an installation if the objects belong to a mesh.
    Definition,
    /// It runs pods.
    Workload,
    /// It may create pods that are not in the manifests.
    Maker,
}

impl FactKind {
    /// Returns the kind of fact that an object may state. `None` for objects that matter only if they
    /// have a pod template.
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "Namespace") => Self::Namespace,
            ("", "Service") => Self::Service,
            ("security.istio.io", "PeerAuthentication") => Self::PeerAuthentication,
            ("security.istio.io", "AuthorizationPolicy") => Self::AuthorizationPolicy,
            ("networking.k8s.io", "NetworkPolicy") => Self::NetworkPolicy,
            ("networking.istio.io", "Sidecar") => Self::Sidecar,
            ("networking.istio.io", "EnvoyFilter") => Self::EnvoyFilter,
            ("networking.istio.io", "ProxyConfig") => Self::ProxyConfig,
            ("networking.istio.io", "WorkloadGroup") => Self::WorkloadGroup,
            ("networking.istio.io", "WorkloadEntry") => Self::WorkloadEntry,
            ("authentication.istio.io", _) => Self::LegacyPolicy,
            ("operator.openshift.io", "Network") | ("operator.tigera.io", "Installation") => {
                Self::NetworkPlugin
            }
            ("crd.projectcalico.org" | "projectcalico.org", "FelixConfiguration") => {
                Self::NetworkPlugin
            }
            ("vpcresources.k8s.aws", "SecurityGroupPolicy") => Self::SecurityGroupPolicy,
            (_, DEFINITION) => Self::Definition,
            _ if may_be_fact(group, kind) => Self::OfMesh,
            _ if is_plugin_policy(group, kind) => Self::PluginPolicy,
            _ if runs_pods(group, kind) => Self::Workload,
            _ if may_create_pods(group, kind) => Self::Maker,
            _ => return None,
        })
    }
}

/// Returns whether an object is a policy of a network plugin that may drop packets to pods.
pub fn is_plugin_policy(group: &str, kind: &str) -> bool {
    match group {
        "cilium.io" => matches!(
            kind,
            "CiliumNetworkPolicy" | "CiliumClusterwideNetworkPolicy"
        ),
        "crd.projectcalico.org" | "projectcalico.org" => {
            matches!(kind, "NetworkPolicy" | "GlobalNetworkPolicy")
        }
        "policy.networking.k8s.io" => matches!(
            kind,
            "AdminNetworkPolicy" | "BaselineAdminNetworkPolicy" | "ClusterNetworkPolicy"
        ),
        _ => false,
    }
}
