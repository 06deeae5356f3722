//! Workloads: objects that hold a pod template, and its containers.

use std::sync::{Arc, OnceLock};

use crate::yaml::{Entry, NodeRef, Route, Step};

use super::container_index::ContainerIndex;
use super::handler::{Handler, Slot};
use super::object::Object;

/// Which list of a pod a container stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerList {
    /// `initContainers`.
    Init,
    /// `containers`.
    Main,
    /// `ephemeralContainers`: they have no probes.
    Ephemeral,
}

impl ContainerList {
    /// Returns the key of the pod spec.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Main => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }
}

/// A workload: an object with a pod template.
#[derive(Clone, Debug)]
pub struct Workload<'t> {
    /// The object.
    pub object: Object<'t>,
    /// Its pod template; of a Pod, the Pod itself.
    pub template: PodTemplate<'t>,
}

impl<'t> Workload<'t> {
    /// Returns the workload that `object` is, if it is one.
    ///
    /// Known kinds need no container; any other kind counts when `spec.template.spec.containers`
    /// is a list, as with Argo's `Rollout`, Knative's `Service` and OpenShift's
    /// `DeploymentConfig`.
    #[must_use]
    pub fn from_object(object: &Object<'t>) -> Option<Self> {
        let keys: &[&'static str] = match (object.group(), object.kind) {
            ("", "Pod") => &[],
            ("", "PodTemplate") => &["template"],
            ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        };
        let mut steps = keys.iter();
        let node = steps.try_fold(object.node, |node, key| node.get(key))?;
        let spec = node.get("spec").filter(|spec| spec.is_mapping())?;
        if !runs_pods(object.group(), object.kind)
            && !spec.get("containers").is_some_and(NodeRef::is_sequence)
        {
            return None;
        }
        let within = Route::keys(keys);
        let route = object.route.join(&within);
        let metadata = node.get("metadata");
        Some(Self {
            object: object.clone(),
            template: PodTemplate {
                node,
                spec,
                route,
                within,
                labels: metadata.and_then(|all| all.get("labels")),
                annotations: metadata.and_then(|all| all.get("annotations")),
                index: Arc::default(),
            },
        })
    }

    /// Returns `kind/name` for messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.object.kind, self.object.name())
    }
}

/// Tells whether objects of this kind run pods, whatever they hold.
#[must_use]
pub fn runs_pods(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Pod" | "PodTemplate" | "ReplicationController")
            | (
                "apps" | "extensions",
                "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet"
            )
            | ("batch", "Job" | "CronJob")
    )
}

/// A pod template (or a Pod) and where it stands.
#[derive(Clone, Debug)]
pub struct PodTemplate<'t> {
    /// The template: `metadata` and `spec`.
    pub node: NodeRef<'t>,
    /// The pod spec.
    pub spec: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: Route,
    /// The route from the object.
    pub within: Route,
    labels: Option<NodeRef<'t>>,
    annotations: Option<NodeRef<'t>>,
    /// Built once, shared by all copies.
    index: Arc<OnceLock<ContainerIndex>>,
}

impl<'t> PodTemplate<'t> {
    /// Returns the entry of an annotation of the pod.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<Entry<'t>> {
        self.annotations()?.entry(key)
    }

    /// Returns the annotations of the pod, if the key is written.
    #[must_use]
    pub const fn annotations(&self) -> Option<NodeRef<'t>> {
        self.annotations
    }

    /// Returns the entry of a label of the pod.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<Entry<'t>> {
        self.labels()?.entry(key)
    }

    /// Returns the labels of the pod, if the key is written.
    #[must_use]
    pub const fn labels(&self) -> Option<NodeRef<'t>> {
        self.labels
    }

    /// Returns the route to an annotation of the pod, from the root of the document.
    #[must_use]
    pub fn annotation_route(&self, key: &'static str) -> Route {
        self.route.child("metadata").child("annotations").child(key)
    }

    /// Returns the entry of `hostNetwork` if it is true.
    #[must_use]
    pub fn host_network(&self) -> Option<Entry<'t>> {
        let entry = self.spec.entry("hostNetwork")?;
        (entry.value.scalar() == Some(crate::yaml::Scalar::Bool(true))).then_some(entry)
    }

    /// Returns all containers: init containers first, then containers, then ephemeral ones.
    #[must_use]
    pub fn containers(&self) -> Vec<Container<'t>> {
        [
            ContainerList::Init,
            ContainerList::Main,
            ContainerList::Ephemeral,
        ]
        .into_iter()
        .flat_map(|list| self.containers_in(list))
        .collect()
    }

    /// Returns the names that the containers declare, looked up once for all handlers of the pod.
    #[must_use]
    pub fn index(&self) -> &ContainerIndex {
        self.index
            .get_or_init(|| ContainerIndex::of(&self.containers()))
    }

    /// Returns `false` if no container has this name. Of a few containers, looking at each costs less than the index.
    #[must_use]
    pub fn may_have_container(&self, name: &str) -> bool {
        let lists = [ContainerList::Init, ContainerList::Main];
        let count: usize = lists.into_iter().map(|list| self.items(list).count()).sum();
        count <= FEW_CONTAINERS || self.index().has_container(name)
    }

    /// Iterates over the names of the containers of one list, each with its container: a look before
    /// [`PodTemplate::containers_in`], which says where they stand.
    pub fn names_in(
        &self,
        list: ContainerList,
    ) -> impl Iterator<Item = (&'t str, NodeRef<'t>)> + use<'t> {
        let containers = self.items(list).filter(|node| node.is_mapping());
        containers.map(|node| {
            let name = node.get("name").and_then(NodeRef::text);
            (name.unwrap_or_default(), node)
        })
    }

    fn items(&self, list: ContainerList) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        let items = self.spec.get(list.key());
        items.into_iter().flat_map(NodeRef::items)
    }

    /// Returns the containers of one list.
    #[must_use]
    pub fn containers_in(&self, list: ContainerList) -> Vec<Container<'t>> {
        let mut items = self.items(list).peekable();
        if items.peek().is_none() {
            return Vec::new();
        }
        let route = self.route.child("spec").child(list.key());
        let within = self.within.child("spec").child(list.key());
        items
            .enumerate()
            .filter(|(_, node)| node.is_mapping())
            .map(|(index, node)| Container {
                list,
                node,
                route: route.child(index),
                within: within.child(index),
            })
            .collect()
    }
}

/// Pods with more containers are asked through their index.
const FEW_CONTAINERS: usize = 16;

/// One container of a pod template.
#[derive(Clone, Debug)]
pub struct Container<'t> {
    /// The list it stands in.
    pub list: ContainerList,
    /// The container.
    pub node: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: Route,
    /// The route from the object.
    pub within: Route,
}

/// A declared port of a container.
#[derive(Clone, Copy, Debug)]
pub struct ContainerPort<'t> {
    /// `name`, if written.
    pub name: Option<&'t str>,
    /// `containerPort`, where it is an integer.
    pub number: Option<i64>,
    /// The declaration.
    pub node: NodeRef<'t>,
}

impl<'t> Container<'t> {
    /// Returns the name, or the empty string.
    #[must_use]
    pub fn name(&self) -> &'t str {
        self.text("name").unwrap_or_default()
    }

    /// Returns the image, if written.
    #[must_use]
    pub fn image(&self) -> Option<&'t str> {
        self.text("image")
    }

    fn text(&self, key: &str) -> Option<&'t str> {
        self.node.get(key)?.text()
    }

    /// Tells whether this is a native sidecar: an init container that is always restarted.
    #[must_use]
    pub fn is_native_sidecar(&self) -> bool {
        self.list == ContainerList::Init && self.text("restartPolicy") == Some("Always")
    }

    /// Returns the declared ports.
    pub fn ports(&self) -> impl Iterator<Item = ContainerPort<'t>> + use<'t> {
        self.node
            .get("ports")
            .into_iter()
            .flat_map(NodeRef::items)
            .map(|node| ContainerPort {
                name: node.get("name").and_then(NodeRef::text),
                number: node.get("containerPort").and_then(super::handler::integer),
                node,
            })
    }

    /// Returns the value of an env variable: the last entry of that name, which is the one the
    /// kubelet lets win.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<EnvVar<'t>> {
        let items = self
            .node
            .get("env")
            .into_iter()
            .flat_map(NodeRef::items)
            .enumerate();
        let matching =
            items.filter(|(_, item)| item.get("name").and_then(NodeRef::text) == Some(name));
        matching.last().map(|(index, node)| EnvVar {
            node,
            route: self.route.child("env").child(index),
        })
    }

    /// Tells whether a probe or hook is written.
    #[must_use]
    pub fn has_handler(&self, slot: Slot) -> bool {
        slot.entry_in(self.node).is_some()
    }

    /// Returns the probes and hooks, in the order liveness, readiness, startup, postStart, preStop.
    #[must_use]
    pub fn handlers(&self) -> Vec<Handler<'t>> {
        Handler::all_of(self)
    }

    /// Returns the route of a field of the container, as the user would write it.
    #[must_use]
    pub fn field(&self, step: impl Into<Step>) -> Route {
        self.within.child(step)
    }
}

/// An entry of a container's `env`.
#[derive(Clone, Debug)]
pub struct EnvVar<'t> {
    /// The entry.
    pub node: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: Route,
}

impl<'t> EnvVar<'t> {
    /// Returns the value, if it is written here (not `valueFrom`).
    #[must_use]
    pub fn value(&self) -> Option<NodeRef<'t>> {
        self.node.get("value")
    }
}
