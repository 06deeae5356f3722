//! The tree of one document: nodes with their exact positions in the source text.

mod lookup;
mod node;
mod storage;

pub use node::{Entry, NodeRef};
pub use storage::{Kind, Style, Tree};
pub(crate) use storage::{MERGE_DEPTH, MERGED_MAPPINGS};
pub(super) use storage::{Memo, NONE, Node, Origins, Properties};
