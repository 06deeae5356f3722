//! Decides how the pods of a workload take part in the mesh.

pub(super) mod assumed_namespace;
pub(super) mod decide;
pub(super) mod evidence;
pub(super) mod injection;
pub(super) mod kind;
pub(super) mod namespace_view;
pub(super) mod own_sidecar;
pub(super) mod placement;

pub use assumed_namespace::AssumedNamespace;
pub use kind::Dataplane;
pub use placement::placement;
