//! What each mesh does to probes; one folder or file per mesh. Behaviour that differs between
//! releases is data, and every constant names its source.

pub mod app_mesh;
pub mod cilium;
pub mod consul;
mod fact;
pub mod istio;
pub mod kuma;
pub mod linkerd;
mod name;
pub mod osm;
pub mod other;
pub mod signs;
mod version;

pub use fact::{Fact, Reason};
pub use name::Mesh;
pub use version::Version;
