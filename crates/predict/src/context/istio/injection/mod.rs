//! Decides how the pods of a workload take part in the mesh.

pub(in crate::context) mod decide;
pub(in crate::context) mod evidence;
pub(in crate::context) mod labels;
mod moved;
mod not_eligible;

pub use decide::placement;
pub use evidence::AssumedNamespace;
