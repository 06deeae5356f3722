//! In-process kustomize: renders the objects of a tree of kustomizations without the kustomize program.
//!
//! A rendered object is a separate document. Each of its keys and values has an origin: the line of the base, the patch
//! or the kustomization that it comes from. Patches are merged into values, not into text, because the order and the
//! quirks of kustomize's merges are defined for values, and because each value then keeps its origin through any number
//! of steps. An object that nothing changes is the user's document itself.
//!
//! Follows kustomize 5.8.2 (`api` 0.21.2, `kyaml` 0.21.2). Probes do not depend on these features, which are not
//! modelled: references from object to object by name, `replicas`, `sortOptions`, `buildMetadata`, subjects of role
//! bindings, hashes in names. A [`Note`] reports each unsupported setting that could affect a probe.

pub(crate) mod accumulator;
pub(crate) mod builder;
pub mod complete;
pub(crate) mod copy;
mod fields;
pub(crate) mod finish;
pub(crate) mod generated;
pub mod helm_charts;
mod images;
mod inline;
mod json_patch;
pub(crate) mod kustomization;
pub(crate) mod limit;
mod list;
pub mod locate;
mod members;
mod merge;
mod merged;
pub(crate) mod node;
pub(crate) mod objects;
pub(crate) mod openapi;
mod patches;
mod plugins;
pub mod rendering;
pub(crate) mod resource;
pub(crate) mod roots;
mod schema;
mod selector;
mod share;
mod transform;
mod unsupported;
pub(crate) mod variables;

pub use generated::{GeneratedFrom, generator_files};
pub use kustomization::REFUSED;
pub use limit::Limit;
pub use rendering::Topic;
pub use rendering::unapplied;
pub use rendering::{
    Deployed, DocumentId, Note, RenderedDocument, Rendering, Scope, kustomize_build,
};
