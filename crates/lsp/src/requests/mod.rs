//! Requests about documents: one file each, with a function from an [`Analysis`](super::analysis::Analysis) and the
//! parameters to the answer.
//!
//! A new request needs its file, and its line and capability in [`dispatch`].

mod code_action;
mod code_action_resolve;
mod code_lens;
mod completion;
mod definition;
mod dispatch;
mod hover;
mod known_key;

pub(super) use code_action::FIX_ALL;
pub(super) use dispatch::{announce, answer, document, error, is_known};
