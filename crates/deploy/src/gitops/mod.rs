//! What Flux and Argo CD deploy: the folders, and the objects that come out of them.

mod application_set;
pub mod changed_files;
pub mod clusters;
pub mod configs;
mod copies;
pub mod deployed_folder;
pub mod deployment;
#[cfg(test)]
mod hostile_tests;
mod named_folders;
mod post_build;
pub mod releases;
mod render;
pub mod repositories;
mod repository_url;
mod reuse;
mod selection;
#[cfg(test)]
mod tests;
mod unread_overlays;

pub use named_folders::NamedFolders;
pub use selection::{render, render_of, render_relevant, render_relevant_again};
pub use unread_overlays::{UnreadOverlay, unread_overlays};
