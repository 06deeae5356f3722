//! Typed views of Kubernetes objects, with source locations.

mod api_rejection;
mod container;
mod container_index;
mod embedded;
mod exec;
mod exec_request;
mod handler;
mod inference;
mod integer;
mod knative;
mod nearness;
mod object;
mod object_fix;
mod operators;
mod pod_security;
mod policy;
mod probe_handler;
mod rejected_field;
mod rejected_name;
mod rejected_number;
mod requirement;
mod revision;
mod selector;
mod slot;
mod target_cluster;
mod workload;

pub use api_rejection::{ApiRejection, RejectionKind, api_rejection};
pub use container::{Container, ContainerList, ContainerPort, EnvVar};
pub use container_index::ContainerIndex;
pub use embedded::{EmbeddedPods, IncompletePod, embedded_pods};
pub use exec::{ExecCall, ExecKind, exec_calls};
pub use exec_request::{SelfRequest, self_request};
pub use handler::{Probe, Unreadable};
pub use inference::inference_components;
pub use integer::integer;
pub use knative::{KNATIVE_SERVING, QUEUE_PROXY, queue_proxy_request};
pub use nearness::{is_in_ancestor_folder, nearness};
pub use object::{Destination, Object, ObjectId, ObjectKey, Provenance, RenderingId};
pub use operators::{PodMaker, PodSource};
pub use pod_security::{EnforcedLevel, EnforcedVersion, FORBIDS_HOSTS};
pub use policy::{
    PeerAuthentication, PortMode, ServicePort, may_create_pods, selects_workload, workload_selector,
};
pub use probe_handler::{HttpGet, Port, ProbeHandler};
pub use rejected_name::{is_dns_label, refused_container_name};
pub use rejected_number::refused_number;
pub use requirement::Requirements;
pub use revision::RevisionContainer;
pub use selector::LabelSelector;
pub use slot::Slot;
pub use workload::{Placement, PodTemplate, Workload, runs_pods};
