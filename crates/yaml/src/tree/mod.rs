//! The tree of one document: nodes with their exact positions in the source text.

mod kind;
mod lookup;
mod memo;
mod node;
mod storage;

pub use kind::{Kind, Style};
pub(crate) use lookup::{MERGE_DEPTH, MERGED_MAPPINGS};
pub(super) use memo::Memo;
pub use node::{Entry, NodeRef};
pub use storage::Tree;
pub(super) use storage::{NONE, Node, Origins, Properties};
