//! Typed views of Kubernetes objects, with source locations.

mod api_rejection;
mod container;
pub mod delivery;
mod embedded;
mod exec;
mod exec_request;
mod handler;
mod nearness;
mod object;
mod operators;
mod policy;
mod probe_handler;
mod requirement;
mod workload;

pub use api_rejection::{
    ApiRejection, RejectionKind, api_rejection, is_dns_label, refused_container_name,
    refused_number,
};
pub use container::{Container, ContainerList, ContainerPort, EnvVar, RevisionContainer, integer};
pub use embedded::{EmbeddedPods, IncompletePod, embedded_pods, inference_components};
pub use exec::{ExecCall, ExecKind, exec_calls};
pub use exec_request::{SelfRequest, self_request};
pub use handler::{Probe, Unreadable};
pub use nearness::{is_in_ancestor_folder, nearness};
pub use object::{
    Destination, EnforcedLevel, EnforcedVersion, FORBIDS_HOSTS, Object, ObjectId, ObjectKey,
    Provenance, RenderingId,
};
pub use operators::{PodMaker, PodSource};
pub use policy::{
    LabelSelector, PeerAuthentication, PortMode, ServicePort, may_create_pods, selects_workload,
    workload_selector,
};
pub use probe_handler::{
    HttpGet, KNATIVE_SERVING, Port, ProbeHandler, QUEUE_PROXY, Slot, queue_proxy_request,
};
pub use requirement::Requirements;
pub use workload::{ContainerIndex, Placement, PodTemplate, Workload, runs_pods};
