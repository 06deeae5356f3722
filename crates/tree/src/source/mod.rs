//! Input of a run: reads files, directories and standard input, and splits them into documents.
//!
//! Errors in the input are data ([`Fault`], [`Content`]), which `engine` reports as findings.

mod boundary;
mod changed_contents;
mod chart;
mod classify;
mod discover;
mod kustomization_fields;
pub mod limits;
mod model;
mod origin;
mod parse_file;
mod patch_files;
pub mod paths;
pub mod placeholder;
mod read;
mod repository;
mod shown_path;
mod template_marker;

pub use crate::filesystem::{FileSystem, canonical};
pub use boundary::{CONFIG_NAMES, resolved_as_named};
pub use chart::{
    HELM_NOT_FOUND, HELM_OUTPUT, chart_folder, chart_of_output, helm_output_of, release_of_output,
};
pub use classify::is_kustomization;
pub use discover::{
    Candidate, Exclude, Folders, Input, Named, Request, TEMPORARY, WalkOptions, find,
    labels_objects, mark_repositories, scripts,
};
pub use kustomization_fields::{
    FieldFault, FieldFaultKind, ListRole, Listed, field_faults, listed,
};
pub use model::objects::{TypeMeta, items};
pub use model::{
    ARGO_SERVER, ChartDeployment, Cluster, Content, ContextOption, Document, Fault, FileLimit,
    Links, Rendered, RenderedChart, Role, Source, SourceFile, SourceSet, Trail,
};
pub use origin::mark_origins;
pub use parse_file::{SharedFiles, segments};
pub use patch_files::mark_patches;
pub use read::{NO_SUCH_FILE, io_error_reason, read_stream};
pub use shown_path::{path_of_name, relative_path, shell_word, shown_path};
pub use template_marker::{TemplateMarker, template_marker};
