//! Data of a run: files, their documents, and the set of all files. Nothing here accesses the disk.

pub(super) mod cluster;
pub(super) mod context_option;
pub(super) mod document;
pub(super) mod fault;
pub(super) mod file;
pub(super) mod links;
pub(super) mod objects;
pub(super) mod origin;
pub(super) mod rendered;
pub(super) mod set;
mod set_paths;

pub use cluster::{ARGO_SERVER, Cluster};
pub use context_option::ContextOption;
pub use document::{Content, Document};
pub use fault::{Fault, FileLimit};
pub use file::{Role, SourceFile};
pub use links::Links;
pub use origin::Source;
pub use rendered::{ChartDeployment, Rendered, RenderedChart, Trail};
pub use set::SourceSet;
