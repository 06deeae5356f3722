//! Typed views of Kubernetes objects, with source locations.

mod api_rejection;
mod container;
pub mod delivery;
mod exec;
mod object;
mod operators;
mod policy;
mod probe_handler;
mod workload;

pub use api_rejection::{
    ApiRejection, RejectionKind, api_rejection, is_dns_label, refused_container_name,
    refused_number,
};
pub use container::{Container, ContainerList, ContainerPort, EnvVar, RevisionContainer, integer};
pub use exec::{ExecCall, ExecKind, SelfRequest, exec_calls, self_request};
pub use object::{
    Destination, EnforcedLevel, EnforcedVersion, FORBIDS_HOSTS, Object, ObjectId, ObjectKey,
    RenderingId, is_in_ancestor_folder, nearness,
};
pub use operators::{
    EmbeddedPods, IncompletePod, PodMaker, PodSource, embedded_pods, inference_components,
};
pub use policy::{
    LabelSelector, PeerAuthentication, PortMode, Requirements, ServicePort, may_create_pods,
    selects_workload, workload_selector,
};
pub use probe_handler::{
    HttpGet, KNATIVE_SERVING, Port, Probe, ProbeHandler, QUEUE_PROXY, Slot, Unreadable,
    queue_proxy_request,
};
pub use workload::{ContainerIndex, Placement, PodTemplate, Workload, runs_pods};
