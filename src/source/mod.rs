//! Where manifests come from: files, directories, standard input; split into documents.
//!
//! Broken input is kept as data ([`Fault`], [`Content`]); only `engine` makes findings of it.

mod boundary;
mod chart;
mod decode;
mod document;
mod escaped_name;
mod file;
mod find;
mod folders;
mod git;
mod hidden;
mod ignores;
mod kustomization;
mod kustomization_fields;
mod linked_kustomization;
mod links;
mod list;
mod manifest_keys;
mod memory_budget;
mod named;
mod origin;
mod parse_budget;
pub(crate) mod place;
pub(crate) mod placeholder;
mod read;
mod rendered;
mod split;
mod tree;
mod walk;

pub use crate::filesystem::canonical;
pub use boundary::{boundary, resolved_as_named, resolved_within, tracked_with};
pub use document::{Content, Document};
pub(crate) use escaped_name::escaped_name;
pub use file::{Fault, Role, SourceFile, SourceSet};
pub(crate) use find::NO_SUCH_FILE;
pub use find::{Candidate, Input, Request, find, reason, shown_path};
pub use folders::Folders;
pub use git::TrackedFiles;
pub use hidden::{HiddenFiles, mark_hidden};
pub use kustomization::{is_kustomization, kustomization_in, mark_patches, patch_files};
pub use kustomization_fields::{is_kustomization_field, is_same_field, merged_spellings};
pub use links::Links;
pub use list::{TypeMeta, items};
pub use memory_budget::MemoryBudget;
pub use named::{Named, mark_repositories};
pub use origin::{Source, mark_origins, relative_path};
pub use parse_budget::parse_budget;
pub use read::{read_file, read_open, read_resolved, read_resolved_text, read_stream, read_text};
pub use rendered::{Rendered, Trail};
pub(crate) use split::segments;
pub use tree::{TreeItem, TreeKind, tree_items};
pub use walk::{Exclude, TEMPORARY, TrackedHidden, WalkOptions};
