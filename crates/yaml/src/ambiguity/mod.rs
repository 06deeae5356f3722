//! Parts of documents that kubectl, kustomize and this tool read differently.
//!
//! kubectl reads YAML through sigs.k8s.io/yaml (go-yaml 2), kustomize through go-yaml 3. Both are derived from libyaml
//! and implement YAML 1.1. If their readings differ from each other or from YAML 1.2, no reading is correct for all
//! tools: predictions that depend on one carry a warning, and the document is not edited.

mod detect;
mod document_end;
mod excerpt;
mod hidden_syntax;
mod kind;
mod merge_limit;
mod merge_order;
mod tag;

pub use detect::{
    ambiguities, encoded_key, hidden_in_comments, hidden_mapping, merge_limit, merge_limit_at_root,
};
pub use kind::{Ambiguity, AmbiguityKind};

#[cfg(test)]
mod tests;
