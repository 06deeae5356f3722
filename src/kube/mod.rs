//! Typed views of Kubernetes objects, with their places.

mod container_index;
mod exec;
mod exec_request;
mod handler;
mod nearness;
mod object;
mod policy;
mod refused;
mod requirement;
mod selector;
mod workload;

pub use container_index::ContainerIndex;
pub use exec::{ExecCall, ExecKind, exec_calls};
pub use exec_request::{OwnRequest, own_request};
pub use handler::{Action, Handler, HttpGet, Port, Slot, Unreadable, integer};
pub use nearness::{lies_above, nearness};
pub use object::{Destination, Object, ObjectId, ObjectKey, Provenance};
pub use policy::{
    PeerAuthentication, PortMode, ServicePort, may_bring_pods, selects_workload, workload_selector,
};
pub use refused::{Objection, Refusal, is_dns_label, refused_by_api, refused_number};
pub use requirement::Requirements;
pub use selector::LabelSelector;
pub use workload::{
    Container, ContainerList, ContainerPort, EnvVar, PodTemplate, Workload, runs_pods,
};
