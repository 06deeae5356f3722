//! Requests about documents: one file each, with a function from an [`Analysis`](super::analysis::Analysis) and the
//! parameters to the answer.
//!
//! A new request needs its file, and its line and capability in [`dispatch`].

mod action_kinds;
mod code_action;
mod code_action_resolve;
mod dispatch;
mod edits;

pub(super) use action_kinds::FIX_ALL;
pub(super) use dispatch::{announce, answer, document, error, is_known};
