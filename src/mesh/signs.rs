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
    groups: &'static [&'static str],
}

const MARKS: [Marks; 6] = [
    Marks {
        mesh: Mesh::Istio,
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
        volumes: &[],
        groups: &["networking.istio.io", "security.istio.io"],
    },
    Marks {
        mesh: Mesh::Osm,
        prefixes: &["openservicemesh.io/"],
        switches: &[
            "openservicemesh.io/monitored-by",
            "openservicemesh.io/sidecar-injection",
        ],
        containers: &["osm-healthcheck", "osm-init"],
        volumes: &[super::osm::BOOTSTRAP_VOLUME],
        groups: &["config.openservicemesh.io", "policy.openservicemesh.io"],
    },
    Marks {
        mesh: Mesh::Kuma,
        prefixes: &["kuma.io/", "traffic.kuma.io/"],
        switches: &["kuma.io/sidecar-injection"],
        containers: &["kuma-sidecar"],
        volumes: &[],
        groups: &["kuma.io"],
    },
    Marks {
        mesh: Mesh::Consul,
        prefixes: &["consul.hashicorp.com/"],
        switches: &["consul.hashicorp.com/connect-inject"],
        containers: &["consul-dataplane"],
        volumes: &[],
        groups: &["consul.hashicorp.com"],
    },
    Marks {
        mesh: Mesh::Linkerd,
        prefixes: &["linkerd.io/", "config.linkerd.io/"],
        switches: &["linkerd.io/inject"],
        containers: &["linkerd-proxy"],
        volumes: &[],
        groups: &["linkerd.io", "policy.linkerd.io"],
    },
    Marks {
        mesh: Mesh::AppMesh,
        prefixes: &["appmesh.k8s.aws/"],
        switches: &[super::app_mesh::INJECT],
        containers: &[],
        volumes: &[],
        groups: &["appmesh.k8s.aws"],
    },
];

/// Values that switch a mesh off, in lower case.
const OFF: [&str; 6] = ["disabled", "false", "no", "none", "off", ""];

/// Returns the mesh whose objects have this API group.
#[must_use]
pub(crate) fn mesh_of_group(group: &str) -> Option<Mesh> {
    let marks = MARKS.iter().find(|marks| marks.groups.contains(&group));
    marks.map(|marks| marks.mesh)
}

/// Returns whose object this is, and whether it is the definition of such objects, which shows an
/// installation; `None` for all others. Istio's own objects are kept apart.
#[must_use]
pub(crate) fn of_object(object: &Object<'_>) -> Option<(Mesh, bool)> {
    if object.kind == "CustomResourceDefinition" {
        let group = object.node.get("spec")?.get("group")?.text()?;
        let mesh = mesh_of_group(group).filter(|mesh| *mesh != Mesh::Istio)?;
        return Some((mesh, true));
    }
    let mesh = mesh_of_group(object.group()).or_else(|| by_content(object))?;
    (mesh != Mesh::Istio).then_some((mesh, false))
}

/// Objects of a shared API that are for one mesh: routes of a `Server` of Linkerd, and policies of
/// Cilium that demand authentication. Cilium alone is no mesh, it is the network of many.
fn by_content(object: &Object<'_>) -> Option<Mesh> {
    let spec = || object.node.get("spec");
    match (object.group(), object.kind) {
        ("gateway.networking.k8s.io", "HTTPRoute" | "GRPCRoute") => {
            let mut parents = spec()?.get("parentRefs")?.items();
            let group = |one: NodeRef<'_>| one.get("group")?.text().map(str::to_owned);
            parents
                .any(|one| group(one).as_deref() == Some("policy.linkerd.io"))
                .then_some(Mesh::Linkerd)
        }
        ("cilium.io", "CiliumNetworkPolicy" | "CiliumClusterwideNetworkPolicy") => {
            let spec = spec()?;
            let lists = ["ingress", "egress"].into_iter();
            let mut rules = lists
                .filter_map(|key| spec.get(key))
                .flat_map(NodeRef::items);
            let mode = |rule: NodeRef<'_>| {
                let mode = rule.get("authentication")?.get("mode")?.text()?;
                Some(mode == "required")
            };
            rules
                .any(|rule| mode(rule) == Some(true))
                .then_some(Mesh::Cilium)
        }
        _ => None,
    }
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
    for marks in &MARKS {
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
