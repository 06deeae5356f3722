//! Containers of a pod template.

use meshprobe_yaml::{FieldPath, NodeRef, Step};

use crate::kube::revision::RevisionContainer;

/// List of a pod that contains a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerList {
    /// `initContainers`.
    Init,
    /// `containers`.
    Main,
    /// `ephemeralContainers`, which cannot have probes.
    Ephemeral,
}

impl ContainerList {
    /// Returns the key of the list in the pod spec.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Main => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }
}

/// Container of a pod template.
#[derive(Clone, Debug)]
pub struct Container<'t> {
    /// The list that contains it.
    pub list: ContainerList,
    /// The container.
    pub node: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: FieldPath,
    /// The route from the object.
    pub within: FieldPath,
    /// The pod spec that contains it.
    pub pod_spec: NodeRef<'t>,
    /// What Knative knows about it, if it is a container of a Knative revision.
    pub revision: Option<RevisionContainer>,
}

/// Port that a container declares.
#[derive(Clone, Copy, Debug)]
pub struct ContainerPort<'t> {
    /// `name`, if set.
    pub name: Option<&'t str>,
    /// `containerPort`, if it is an integer.
    pub number: Option<i64>,
    /// The declaration.
    pub node: NodeRef<'t>,
}

impl<'t> Container<'t> {
    /// Returns the name, or the empty string. Knative gives the containers of its revisions a name.
    #[must_use]
    pub fn name(&self) -> &'t str {
        let name = self.text("name").unwrap_or_default();
        match self.revision {
            Some(revision) if name.is_empty() => revision.name,
            _ => name,
        }
    }

    /// Returns the image, if set.
    #[must_use]
    pub fn image(&self) -> Option<&'t str> {
        self.text("image")
    }

    fn text(&self, key: &str) -> Option<&'t str> {
        self.node.get(key)?.text()
    }

    /// Returns whether this is a native sidecar: an init container that is always restarted.
    #[must_use]
    pub fn is_native_sidecar(&self) -> bool {
        self.list == ContainerList::Init && self.text("restartPolicy") == Some("Always")
    }

    /// Returns the grace period of its pod in seconds; 30 by default. `None` if the API server does not use the value as
    /// it is written: it refuses other types, and replaces a negative number by 1 in a Pod.
    ///
    /// Source: Kubernetes 1.37.2, `pkg/apis/core/v1/defaults.go` (`SetDefaults_PodSpec`, `SetDefaults_Pod`).
    #[must_use]
    pub fn grace_period_seconds(&self) -> Option<i64> {
        match self.pod_spec.get("terminationGracePeriodSeconds") {
            Some(seconds) if !seconds.is_null() => {
                crate::kube::integer::integer(seconds).filter(|seconds| *seconds >= 0)
            }
            _ => Some(30),
        }
    }

    /// Returns the declared ports.
    pub fn ports(&self) -> impl Iterator<Item = ContainerPort<'t>> + use<'t> {
        self.node
            .get("ports")
            .into_iter()
            .flat_map(NodeRef::items)
            .map(|node| ContainerPort {
                name: node.get("name").and_then(NodeRef::text),
                number: node
                    .get("containerPort")
                    .and_then(crate::kube::integer::integer),
                node,
            })
    }

    /// Returns the last entry for an environment variable, which is the one that the kubelet uses.
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

    /// Returns the route from the object to a field of the container.
    #[must_use]
    pub fn field(&self, step: impl Into<Step>) -> FieldPath {
        self.within.child(step)
    }
}

/// Item of a container's `env`.
#[derive(Clone, Debug)]
pub struct EnvVar<'t> {
    /// The entry.
    pub node: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: FieldPath,
}

impl<'t> EnvVar<'t> {
    /// Returns the value, if it is set directly (not through `valueFrom`).
    #[must_use]
    pub fn value(&self) -> Option<NodeRef<'t>> {
        self.node.get("value")
    }
}
