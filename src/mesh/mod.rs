//! What each mesh does to probes; one folder or file per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

pub(crate) mod app_mesh;
pub(crate) mod cilium;
pub(crate) mod consul;
mod fact;
pub mod istio;
pub(crate) mod kuma;
pub(crate) mod linkerd;
mod name;
pub(crate) mod osm;
pub(crate) mod other;
pub(crate) mod signs;
mod version;

pub use fact::{Fact, Reason};
pub use name::Mesh;
pub use version::Version;
