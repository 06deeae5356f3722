//! Workloads: objects with a pod template, and its containers.
//!
//! Index of the names that the containers of a pod declare.

use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};
use meshprobe_yaml::{Entry, FieldPath, NodeRef};

use super::container::{Container, ContainerList, RevisionContainers};
use super::object::Object;
use super::probe_handler::KNATIVE_SERVING;

/// Object with a pod template.
#[derive(Clone, Debug)]
pub struct Workload<'t> {
    /// The object.
    pub object: Object<'t>,
    /// Its pod template; for a Pod, the Pod itself.
    pub template: PodTemplate<'t>,
}

impl<'t> Workload<'t> {
    /// Returns `object` as a workload, if it is one.
    ///
    /// Objects of the kinds in [`runs_pods`] need not have containers. An object of any other kind is a
    /// workload if `spec.template.spec.containers` is a list, as in Argo's `Rollout`, Knative's
    /// `Service` and OpenShift's `DeploymentConfig`.
    #[must_use]
    pub fn from_object(object: &Object<'t>) -> Option<Self> {
        let keys: &[&'static str] = match (object.group(), object.kind) {
            ("", "Pod") => &[],
            ("", "PodTemplate") => &["template"],
            ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        };
        let node = keys
            .iter()
            .try_fold(object.node, |node, key| node.get(key))?;
        let spec = node.get("spec").filter(|spec| spec.is_mapping())?;
        if !runs_pods(object.group(), object.kind)
            && !spec.get("containers").is_some_and(NodeRef::is_sequence)
        {
            return None;
        }
        let within = FieldPath::keys(keys);
        let mut template = PodTemplate::new(node, spec, &object.route, within, Placement::Known);
        template.is_revision = object.group() == KNATIVE_SERVING;
        Some(Self {
            object: object.clone(),
            template,
        })
    }

    /// Returns `kind/name` for messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}/{}", self.object.kind, self.object.name())
    }
}

/// Returns whether objects of this kind run pods, whatever they contain.
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

/// How sure it is that a controller creates pods from a template, in descending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// The kind is known, or has the usual field `spec.template`.
    Known,
    /// It is assumed: the template is somewhere in an object of an operator.
    Embedded,
    /// It is assumed: a pod spec without metadata is somewhere in an object of an operator.
    EmbeddedSpec,
}

impl Placement {
    /// Returns whether it is assumed that pods are created from the template.
    #[must_use]
    pub const fn is_assumed(self) -> bool {
        !matches!(self, Self::Known)
    }
}

/// Pod template (or Pod) with its location.
#[derive(Clone, Debug)]
pub struct PodTemplate<'t> {
    /// The template: `metadata` and `spec`.
    pub node: NodeRef<'t>,
    /// The pod spec.
    pub spec: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: FieldPath,
    /// The route from the object.
    pub within: FieldPath,
    /// How sure it is that pods are created from it.
    pub placement: Placement,
    /// Whether Knative creates a revision from it.
    is_revision: bool,
    labels: Option<NodeRef<'t>>,
    annotations: Option<NodeRef<'t>>,
    /// The metadata of the object, whose labels and annotations an operator also sets on its pods.
    inherited: Option<NodeRef<'t>>,
    /// Built once and shared by all clones.
    index: Arc<OnceLock<ContainerIndex>>,
}

impl<'t> PodTemplate<'t> {
    /// Returns the template `node` at `within` of an object at `object_route`; `spec` is its pod spec.
    pub(super) fn new(
        node: NodeRef<'t>,
        spec: NodeRef<'t>,
        object_route: &FieldPath,
        within: FieldPath,
        placement: Placement,
    ) -> Self {
        let metadata = node
            .get("metadata")
            .filter(|_| placement != Placement::EmbeddedSpec);
        Self {
            node,
            spec,
            route: object_route.join(&within),
            within,
            placement,
            is_revision: false,
            labels: metadata.and_then(|all| all.get("labels")),
            annotations: metadata.and_then(|all| all.get("annotations")),
            inherited: None,
            index: Arc::default(),
        }
    }

    /// Sets the node with the labels and annotations of the pods, and the metadata from which they also get those
    /// that the node does not set.
    pub(super) fn with_metadata(
        mut self,
        node: NodeRef<'t>,
        inherited: Option<NodeRef<'t>>,
    ) -> Self {
        self.labels = node.get("labels");
        self.annotations = node.get("annotations");
        self.inherited = inherited;
        self
    }

    fn inherited(&self, key: &str) -> Option<NodeRef<'t>> {
        self.inherited?.get(key)
    }

    /// Returns the steps from the template to its pod spec.
    fn spec_within(&self) -> FieldPath {
        match self.placement {
            Placement::EmbeddedSpec => FieldPath::root(),
            Placement::Known | Placement::Embedded => FieldPath::keys(&["spec"]),
        }
    }

    /// Returns the entry of an annotation of the pod.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<Entry<'t>> {
        let own = self.annotations.and_then(|own| own.entry(key));
        own.or_else(|| self.inherited("annotations")?.entry(key))
    }

    /// Returns whether an annotation of the template takes precedence over the one of the object.
    #[must_use]
    pub fn overrides_inherited(&self, key: &str) -> bool {
        let own = self.annotations.and_then(|own| own.entry(key));
        let inherited = || self.inherited("annotations")?.entry(key);
        own.is_some() && inherited().is_some()
    }

    /// Returns the annotations of the pod, if set. For a pod whose annotations are set in two places, returns the
    /// first.
    #[must_use]
    pub fn annotations(&self) -> Option<NodeRef<'t>> {
        self.annotations.or_else(|| self.inherited("annotations"))
    }

    /// Returns the entry of a label of the pod.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<Entry<'t>> {
        let own = self.labels.and_then(|own| own.entry(key));
        own.or_else(|| self.inherited("labels")?.entry(key))
    }

    /// Returns the labels of the pod, if set. For a pod whose labels are set in two places, returns the first.
    #[must_use]
    pub fn labels(&self) -> Option<NodeRef<'t>> {
        self.labels.or_else(|| self.inherited("labels"))
    }

    /// Returns the route to an annotation of the pod, from the root of the document.
    #[must_use]
    pub fn annotation_route(&self, key: &'static str) -> FieldPath {
        self.route.child("metadata").child("annotations").child(key)
    }

    /// Returns the entry of `hostNetwork` if it is true.
    #[must_use]
    pub fn host_network(&self) -> Option<Entry<'t>> {
        let entry = self.spec.entry("hostNetwork")?;
        (entry.value.scalar() == Some(meshprobe_yaml::Scalar::Bool(true))).then_some(entry)
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

    /// Returns the index of the names that the containers declare, built once for all handlers of the pod.
    #[must_use]
    pub fn index(&self) -> &ContainerIndex {
        self.index
            .get_or_init(|| ContainerIndex::of(&self.containers()))
    }

    /// Returns `false` only if no container has this name. Always returns `true` for pods with few
    /// containers: there, checking each one is cheaper than building the index.
    #[must_use]
    pub fn may_have_container(&self, name: &str) -> bool {
        let lists = [ContainerList::Init, ContainerList::Main];
        let count: usize = lists.into_iter().map(|list| self.items(list).count()).sum();
        count <= FEW_CONTAINERS || self.index().has_container(name)
    }

    /// Iterates over the containers of one list with their names. Cheaper than
    /// [`PodTemplate::containers_in`], which also returns their routes.
    pub fn names_in(
        &self,
        list: ContainerList,
    ) -> impl Iterator<Item = (&'t str, NodeRef<'t>)> + use<'t> {
        self.items(list)
            .filter(|node| node.is_mapping())
            .map(|node| {
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
        let list_within = self.spec_within().child(list.key());
        let route = self.route.join(&list_within);
        let within = self.within.join(&list_within);
        let mut revision = self
            .is_revision
            .then(|| RevisionContainers::new(self.spec, list == ContainerList::Main));
        items
            .enumerate()
            .filter(|(_, node)| node.is_mapping())
            .map(|(index, node)| Container {
                list,
                node,
                route: route.child(index),
                within: within.child(index),
                pod_spec: self.spec,
                revision: revision
                    .as_mut()
                    .map(|containers| containers.describe(node)),
            })
            .collect()
    }
}

/// Pods with more containers use their index.
const FEW_CONTAINERS: usize = 16;

/// Index of the names that the containers of one pod declare. Owns its strings, so that views of pods stay covariant.
#[derive(Clone, Debug, Default)]
pub struct ContainerIndex {
    /// Number of containers by name.
    containers: HashMap<Box<str>, usize>,
    /// Names of ports for which the first declaration in a container has a number.
    ports: HashSet<Box<str>>,
}

impl ContainerIndex {
    /// Collects the names of containers and of their ports.
    pub(super) fn of(containers: &[Container<'_>]) -> Self {
        let mut index = Self::default();
        for container in containers {
            *index.containers.entry(container.name().into()).or_default() += 1;
            // The kubelet uses the first declaration of a name in a container.
            let mut declared: HashMap<&str, Option<i64>> = HashMap::new();
            for port in container.ports() {
                if let Some(name) = port.name {
                    declared.entry(name).or_insert(port.number);
                }
            }
            let numbered = declared.into_iter().filter(|(_, number)| number.is_some());
            index.ports.extend(numbered.map(|(name, _)| name.into()));
        }
        index
    }

    /// Returns whether several containers of the pod have this name.
    #[must_use]
    pub fn is_shared_name(&self, name: &str) -> bool {
        self.containers.get(name).is_some_and(|&count| count > 1)
    }

    /// Returns whether a container of the pod has this name.
    #[must_use]
    pub fn has_container(&self, name: &str) -> bool {
        self.containers.contains_key(name)
    }

    /// Returns whether a container declares a port of this name with a number.
    #[must_use]
    pub fn declares_port(&self, name: &str) -> bool {
        self.ports.contains(name)
    }
}
