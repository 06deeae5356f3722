//! Data of a run: files, their documents, and the set of all files. Nothing here accesses the disk.

pub(super) mod document;
pub(super) mod file;
pub(super) mod objects;
pub(super) mod rendered;
pub(super) mod set;

pub use document::{Content, Document, Fault, FileLimit};
pub use file::{Role, Source, SourceFile};
pub use objects::Links;
pub use rendered::{
    ARGO_SERVER, ChartDeployment, Cluster, ContextOption, Rendered, RenderedChart, Trail,
};
pub use set::SourceSet;
