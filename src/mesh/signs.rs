//! What in a tree shows that a pod belongs to one mesh and not to another.
//!
//! Sources: the labels, annotations, containers and API groups that the projects document; those
//! of OSM from `pkg/constants` and `pkg/injector/webhook.go` (v1.2.4), of Kuma from
//! `pkg/plugins/runtime/k8s/metadata` (v3 development), of Consul from
//! `control-plane/connect-inject/constants` (consul-k8s), of Linkerd from `pkg/k8s/labels.go`, of
//! App Mesh from `pkg/inject` of its controller.

use crate::finding::Label;
use crate::kube::{ContainerList, Object, Workload};
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::Mesh;

/// How much a sign says; the heaviest one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// The mesh is installed somewhere in the tree.
    Install,
    /// A key of the mesh stands at the pod or its Namespace, or switches it off there.
    Mention,
    /// An object of the mesh lies in the namespace.
    Object,
    /// The Namespace asks for the mesh.
    Namespace,
    /// The pod asks for the mesh.
    Pod,
    /// The pod carries the proxy of the mesh.
    Sidecar,
}

/// One sign of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// The mesh that it speaks for.
    pub mesh: Mesh,
    /// How much it says.
    pub weight: Weight,
    /// Where it stands, with what it says.
    pub place: Label,
}

/// What shows that something belongs to one mesh.
struct Marks {
    mesh: Mesh,
    /// Of labels and annotations.
    prefixes: &'static [&'static str],
    /// Labels and annotations that ask for the mesh.
    switches: &'static [&'static str],
    /// Of the proxy, as the injector names them.
    containers: &'static [&'static str],
    /// Of the proxy.
    volumes: &'static [&'static str],
    /// API groups whose objects are all facts for the mesh.
    groups: &'static [&'static str],
    /// Kinds of other API groups that hold facts for the mesh.
    shared: &'static [SharedKind],
}

/// A kind of objects that serve several meshes, or none.
struct SharedKind {
    group: &'static str,
    kind: &'static str,
    /// Tells from the `spec` whether an object is a fact for the mesh.
    is_fact: fn(NodeRef<'_>) -> bool,
}

impl Marks {
    /// Returns the marks of a mesh: the one place that says which of its objects are facts.
    const fn of(mesh: Mesh) -> Self {
        const NONE: Marks = Marks {
            mesh: Mesh::Istio,
            prefixes: &[],
            switches: &[],
            containers: &[],
            volumes: &[],
            groups: &[],
            shared: &[],
        };
        match mesh {
            Mesh::Istio => Self {
                mesh,
                prefixes: &[
                    "sidecar.istio.io/",
                    "traffic.sidecar.istio.io/",
                    "proxy.istio.io/",
                    "inject.istio.io/",
                    "security.istio.io/",
                    "istio.io/",
                    "istio-injection",
                ],
                switches: &[
                    "istio-injection",
                    "istio.io/rev",
                    "istio.io/dataplane-mode",
                    "sidecar.istio.io/inject",
                ],
                containers: &["istio-proxy"],
                groups: &["networking.istio.io", "security.istio.io"],
                ..NONE
            },
            Mesh::Osm => Self {
                mesh,
                prefixes: &["openservicemesh.io/"],
                switches: &[
                    "openservicemesh.io/monitored-by",
                    "openservicemesh.io/sidecar-injection",
                ],
                containers: &["osm-healthcheck", "osm-init"],
                volumes: &[super::osm::BOOTSTRAP_VOLUME],
                groups: &["config.openservicemesh.io", "policy.openservicemesh.io"],
                ..NONE
            },
            Mesh::Kuma => Self {
                mesh,
                prefixes: &["kuma.io/", "traffic.kuma.io/"],
                switches: &["kuma.io/sidecar-injection"],
                containers: &["kuma-sidecar"],
                groups: &["kuma.io"],
                ..NONE
            },
            Mesh::Consul => Self {
                mesh,
                prefixes: &["consul.hashicorp.com/"],
                switches: &["consul.hashicorp.com/connect-inject"],
                containers: &["consul-dataplane"],
                groups: &["consul.hashicorp.com"],
                ..NONE
            },
            Mesh::Linkerd => Self {
                mesh,
                prefixes: &["linkerd.io/", "config.linkerd.io/"],
                switches: &["linkerd.io/inject"],
                containers: &["linkerd-proxy"],
                groups: &["linkerd.io", "policy.linkerd.io"],
                shared: &[
                    SharedKind {
                        group: GATEWAY_API,
                        kind: "HTTPRoute",
                        is_fact: is_route_of_linkerd,
                    },
                    SharedKind {
                        group: GATEWAY_API,
                        kind: "GRPCRoute",
                        is_fact: is_route_of_linkerd,
                    },
                ],
                ..NONE
            },
            Mesh::AppMesh => Self {
                mesh,
                prefixes: &["appmesh.k8s.aws/"],
                switches: &[super::app_mesh::INJECT],
                groups: &["appmesh.k8s.aws"],
                ..NONE
            },
            // Cilium alone is no mesh, it is the network of many.
            Mesh::Cilium => Self {
                mesh,
                shared: &[
                    SharedKind {
                        group: "cilium.io",
                        kind: "CiliumNetworkPolicy",
                        is_fact: demands_authentication,
                    },
                    SharedKind {
                        group: "cilium.io",
                        kind: "CiliumClusterwideNetworkPolicy",
                        is_fact: demands_authentication,
                    },
                ],
                ..NONE
            },
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        Mesh::ALL.into_iter().map(Self::of)
    }

    /// Returns what decides about an object of a shared kind.
    fn shared(&self, group: &str, kind: &str) -> Option<&'static SharedKind> {
        let mut shared = self.shared.iter();
        shared.find(|one| (one.group, one.kind) == (group, kind))
    }
}

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// Values that switch a mesh off, in lower case.
const OFF: [&str; 6] = ["disabled", "false", "no", "none", "off", ""];

/// Returns the mesh whose objects have this API group.
#[must_use]
pub(crate) fn mesh_of_group(group: &str) -> Option<Mesh> {
    let marks = Marks::all().find(|marks| marks.groups.contains(&group));
    marks.map(|marks| marks.mesh)
}

/// Tells whether objects of this kind may be facts for a mesh that is not Istio: surely not where it
/// says no.
#[must_use]
pub(crate) fn may_be_fact(group: &str, kind: &str) -> bool {
    let mut others = Marks::all().filter(|marks| marks.mesh != Mesh::Istio);
    others.any(|marks| marks.groups.contains(&group) || marks.shared(group, kind).is_some())
}

/// Tells whether a label or an annotation with this key may matter to a mesh.
#[must_use]
pub(crate) fn is_key_of_mesh(key: &str) -> bool {
    let mut prefixes = Marks::all().flat_map(|marks| marks.prefixes);
    prefixes.any(|prefix| key.starts_with(prefix))
}

/// Returns the mesh that a definition of objects of this API group installs; none for Istio.
#[must_use]
pub(crate) fn defined_mesh(group: &str) -> Option<Mesh> {
    mesh_of_group(group).filter(|mesh| *mesh != Mesh::Istio)
}

/// Returns whose object this is, and whether it is the definition of such objects, which shows an
/// installation; `None` for all others. Istio's own objects are kept apart.
#[must_use]
pub(crate) fn of_object(object: &Object<'_>) -> Option<(Mesh, bool)> {
    if object.kind == DEFINITION {
        let group = object.node.get("spec")?.get("group")?.text()?;
        return Some((defined_mesh(group)?, true));
    }
    let mesh = mesh_of_group(object.group()).or_else(|| by_content(object))?;
    (mesh != Mesh::Istio).then_some((mesh, false))
}

/// The kind of objects that define others.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// Returns the mesh that an object of a shared kind is for.
fn by_content(object: &Object<'_>) -> Option<Mesh> {
    let spec = object.node.get("spec")?;
    let marks = Marks::all().find(|marks| {
        let shared = marks.shared(object.group(), object.kind);
        shared.is_some_and(|shared| (shared.is_fact)(spec))
    });
    marks.map(|marks| marks.mesh)
}

/// A route of a `Server` of Linkerd.
fn is_route_of_linkerd(spec: NodeRef<'_>) -> bool {
    let parents = spec.get("parentRefs").into_iter();
    let mut groups = parents
        .flat_map(NodeRef::items)
        .filter_map(|one| one.get("group")?.text());
    groups.any(|group| group == "policy.linkerd.io")
}

/// A policy that demands mutual authentication.
fn demands_authentication(spec: NodeRef<'_>) -> bool {
    let lists = ["ingress", "egress"].into_iter();
    let rules = lists
        .filter_map(|key| spec.get(key))
        .flat_map(NodeRef::items);
    let mut modes = rules.filter_map(|rule| rule.get("authentication")?.get("mode")?.text());
    modes.any(|mode| mode == "required")
}

/// Returns the signs at a pod and at its Namespace, for every mesh.
#[must_use]
pub(crate) fn signs<'t>(workload: &Workload<'t>, namespace: Option<&Object<'t>>) -> Vec<Sign> {
    let pod = Parts::of(workload);
    let metadata = namespace.and_then(Object::metadata);
    let of_namespace = |key: &str| metadata?.get(key);
    let namespace = namespace.zip(Some(keys([
        of_namespace("labels"),
        of_namespace("annotations"),
    ])));
    let mut found = Vec::new();
    for marks in Marks::all() {
        found.extend(marks.at_pod(&workload.object, &pod));
        let keys = namespace.iter();
        found.extend(keys.flat_map(|(object, keys)| {
            marks.in_keys(object, keys, Weight::Namespace, "the Namespace")
        }));
    }
    found
}

/// A label or annotation by its key.
type Key<'t> = (&'t str, Entry<'t>);

/// What may show at a pod that it belongs to a mesh.
struct Parts<'t> {
    /// Of its labels and annotations.
    keys: Vec<Key<'t>>,
    /// The names of its containers; a partial container is only a request.
    containers: Vec<NodeRef<'t>>,
    /// The names of its volumes.
    volumes: Vec<NodeRef<'t>>,
}

impl<'t> Parts<'t> {
    fn of(workload: &Workload<'t>) -> Self {
        let template = &workload.template;
        let lists = [ContainerList::Main, ContainerList::Init].into_iter();
        let containers = lists
            .flat_map(|list| template.names_in(list))
            .filter(|(_, node)| node.get("image").and_then(NodeRef::text) != Some("auto"))
            .filter_map(|(_, node)| node.get("name"));
        let volumes = template.spec.get("volumes");
        let volumes = volumes.into_iter().flat_map(NodeRef::items);
        Self {
            keys: keys([template.labels(), template.annotations()]),
            containers: containers.collect(),
            volumes: volumes.filter_map(|one| one.get("name")).collect(),
        }
    }
}

fn keys<'t>(holders: [Option<NodeRef<'t>>; 2]) -> Vec<Key<'t>> {
    let entries = holders.into_iter().flatten().flat_map(NodeRef::entries);
    entries
        .filter_map(|entry| Some((entry.key.text()?, entry)))
        .collect()
}

impl Marks {
    fn at_pod(&self, object: &Object<'_>, pod: &Parts<'_>) -> Vec<Sign> {
        let mut found = self.in_keys(object, &pod.keys, Weight::Pod, "the pod");
        let among =
            |name: &&NodeRef<'_>, known: &[&str]| known.contains(&name.text().unwrap_or_default());
        let containers = pod.containers.iter();
        let containers = containers.filter(|name| among(name, self.containers));
        let volumes = pod.volumes.iter();
        let volumes = volumes.filter(|name| among(name, self.volumes));
        found.extend(containers.chain(volumes).map(|name| {
            let said = format!("the pod carries the proxy of {}", self.mesh.title());
            self.sign(Weight::Sidecar, object.label_at(name.span(), said))
        }));
        found
    }

    fn in_keys(
        &self,
        object: &Object<'_>,
        keys: &[Key<'_>],
        weight: Weight,
        who: &str,
    ) -> Vec<Sign> {
        let mine = keys.iter();
        mine.filter(|(key, _)| self.prefixes.iter().any(|one| key.starts_with(one)))
            .map(|(key, entry)| {
                let title = self.mesh.title();
                let asks = self.switches.contains(key) && is_on(entry);
                let (weight, said) = if asks {
                    (weight, format!("{who} asks for {title}"))
                } else {
                    (Weight::Mention, format!("{who} speaks of {title}"))
                };
                self.sign(weight, object.label_at(entry.key.span(), said))
            })
            .collect()
    }

    const fn sign(&self, weight: Weight, place: Label) -> Sign {
        Sign {
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
