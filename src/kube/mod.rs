//! Typed views of Kubernetes objects, with their places.

mod handler;
mod object;
mod selector;
mod workload;

pub use handler::{Action, Handler, HttpGet, Port, Slot, Unreadable, integer};
pub use object::Object;
pub use selector::LabelSelector;
pub use workload::{Container, ContainerList, ContainerPort, EnvVar, PodTemplate, Workload};
