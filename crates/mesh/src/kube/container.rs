//! Containers of a pod template.
//!
//! The containers of a revision of Knative Serving, with the names and ports that its webhook sets.
//!
//! Source: Knative Serving 1.23.0, `pkg/apis/serving/v1/revision_defaults.go`, `pkg/apis/config/defaults.go`,
//! `pkg/networking/constants.go`.
//!
//! Integers as Kubernetes tools read them.

use meshprobe_yaml::{FieldPath, NodeRef, Scalar, Step};

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
            Some(seconds) if !seconds.is_null() => integer(seconds).filter(|seconds| *seconds >= 0),
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
                number: node.get("containerPort").and_then(integer),
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

/// The port of a container that does not declare one (`DefaultUserPort`).
const USER_PORT: i64 = 8080;

/// The port of queue-proxy for HTTP/1 (`BackendHTTPPort`).
const QUEUE_PORT: i64 = 8012;

/// The port of queue-proxy for HTTP/2 (`BackendHTTP2Port`).
const QUEUE_PORT_HTTP2: i64 = 8013;

/// The names of containers without a name, if the pod has several.
const USER_CONTAINERS: [&str; 10] = [
    "user-container-0",
    "user-container-1",
    "user-container-2",
    "user-container-3",
    "user-container-4",
    "user-container-5",
    "user-container-6",
    "user-container-7",
    "user-container-8",
    "user-container-9",
];

/// What Knative knows about a container of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionContainer {
    /// The name if the manifest does not contain one.
    pub(super) name: &'static str,
    /// Whether it is not an init container.
    pub(super) is_main: bool,
    /// Whether the container serves the requests: it declares the port, or it is the only one.
    pub(super) is_serving: bool,
    /// The port of the container that serves the requests.
    pub(super) user_port: i64,
    /// The port of queue-proxy.
    pub(super) queue_port: i64,
}

/// The containers of one list of a revision, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevisionContainers {
    is_main: bool,
    is_alone: bool,
    user_port: i64,
    queue_port: i64,
    /// How many containers so far do not have a name.
    unnamed: usize,
}

impl RevisionContainers {
    pub(super) fn new(pod_spec: NodeRef<'_>, is_main: bool) -> Self {
        let containers = pod_spec.get("containers");
        let main = || containers.into_iter().flat_map(NodeRef::items);
        let declared = main().find_map(|container| container.get("ports")?.items().next());
        let number = declared.and_then(|port| port.get("containerPort").and_then(integer));
        let protocol = declared.and_then(|port| port.get("name")?.text());
        Self {
            is_main,
            is_alone: main().count() == 1,
            user_port: number.filter(|number| *number != 0).unwrap_or(USER_PORT),
            queue_port: match protocol {
                Some("h2c") => QUEUE_PORT_HTTP2,
                _ => QUEUE_PORT,
            },
            unnamed: 0,
        }
    }

    /// Returns what Knative knows about the next container of the list.
    pub(super) fn describe(&mut self, container: NodeRef<'_>) -> RevisionContainer {
        let name = container.get("name").and_then(NodeRef::text);
        let unnamed = self.unnamed;
        if name.is_none_or(str::is_empty) {
            self.unnamed += 1;
        }
        let has_port = || {
            container
                .get("ports")
                .is_some_and(|ports| ports.items().len() > 0)
        };
        RevisionContainer {
            name: match (self.is_main, self.is_alone) {
                (true, true) => "user-container",
                (true, false) => USER_CONTAINERS.get(unnamed).copied().unwrap_or_default(),
                (false, _) => "init-container",
            },
            is_main: self.is_main,
            is_serving: self.is_main && (self.is_alone || has_port()),
            user_port: self.user_port,
            queue_port: self.queue_port,
        }
    }
}

/// Returns the integer that Kubernetes tools read from a scalar: 8080 for both `8080` and `8080.0`.
#[must_use]
pub fn integer(node: NodeRef<'_>) -> Option<i64> {
    match node.scalar()? {
        Scalar::Int(number) => Some(number),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be integral and small"
        )]
        Scalar::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Some(number as i64)
        }
        _ => None,
    }
}
