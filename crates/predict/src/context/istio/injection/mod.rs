//! Decides how the pods of a workload take part in the mesh.

pub(in crate::context) mod assumed_namespace;
pub(in crate::context) mod decide;
pub(in crate::context) mod evidence;
pub(in crate::context) mod labels;
pub(in crate::context) mod members;
mod moved;
pub(in crate::context) mod namespace_view;
mod not_eligible;
pub(in crate::context) mod own_sidecar;
pub(in crate::context) mod placement;

pub use assumed_namespace::AssumedNamespace;
pub use placement::placement;
