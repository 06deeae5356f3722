//! The containers of a revision of Knative Serving, with the names and ports that its webhook sets.
//!
//! Source: Knative Serving 1.23.0, `pkg/apis/serving/v1/revision_defaults.go`, `pkg/apis/config/defaults.go`,
//! `pkg/networking/constants.go`.

use meshprobe_yaml::NodeRef;

use crate::kube::integer::integer;

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
