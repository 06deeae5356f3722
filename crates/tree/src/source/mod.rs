//! Input of a run: reads files, directories and standard input, and splits them into documents.
//!
//! Errors in the input are data ([`Fault`], [`Content`]), which `engine` reports as findings.

mod boundary;
mod changed_contents;
mod chart;
mod classify;
mod decode;
mod discover;
mod escaped_name;
mod git;
mod io_error;
mod kustomization_change;
mod kustomization_faults;
mod kustomization_name;
pub mod limits;
mod linked_kustomization;
mod list;
mod manifest_keys;
mod model;
mod on_disk;
mod origin;
mod parse_file;
mod patch_files;
pub mod paths;
pub mod placeholder;
mod read;
mod repository;
mod resolve;
mod shared_files;
mod shell_word;
mod shown_path;
mod split;
mod template_marker;
mod template_tags;
mod tree_root;

pub use crate::filesystem::{FileSystem, canonical};
pub use chart::{
    HELM_NOT_FOUND, HELM_OUTPUT, chart_folder, chart_of_output, helm_output_of, release_of_output,
};
pub use discover::{
    Candidate, Exclude, Folders, Input, Named, Request, TEMPORARY, WalkOptions, find,
    labels_objects, mark_repositories, scripts, setting_files,
};
pub use escaped_name::path_of_name;
pub use io_error::NO_SUCH_FILE;
pub use io_error::io_error_reason;
pub use kustomization_change::changes_only_pods;
pub use kustomization_faults::{FieldFault, FieldFaultKind, field_faults};
pub use kustomization_name::is_kustomization;
pub use list::{TypeMeta, items};
pub use model::{
    ARGO_SERVER, ChartDeployment, Cluster, Content, ContextOption, Document, Fault, FileLimit,
    Links, Rendered, RenderedChart, Role, Source, SourceFile, SourceSet, Trail,
};
pub use on_disk::{
    boundary, kustomization_in, read_file, read_text, resolved_as_named, resolved_within, tree_root,
};
pub use origin::mark_origins;
pub use patch_files::{mark_patches, patch_files};
pub use read::read_stream;
pub use shared_files::SharedFiles;
pub use shell_word::shell_word;
pub use shown_path::{relative_path, shown_path};
pub use split::segments;
pub use template_marker::{TemplateMarker, template_marker};
pub use tree_root::CONFIG_NAMES;
