//! Turns predictions into intended changes: writes ahead of deployment what the injector would do.
//!
//! A pod gets all of its changes or none: a guard that refuses one handler prevents the rewrite of the whole pod.

mod fingerprint;
mod form;
mod guard;
mod handlers;
mod host_kept;
mod not_given;
mod notes;
mod overlay;
mod overlay_check;
mod overlay_generated;
mod overlay_left_out;
mod overlay_unread;
mod patch_file;
mod plan;
mod planner;
mod pod;
mod pod_outcome;
mod preview;
mod remainder;
mod rival_meshes;
mod selected_templates;
mod undo;
mod unknown_kind;
mod unrewritten;
mod vm;

pub use crate::rewrite::guard::checks::ALLOWABLE;
pub use crate::rewrite::overlay_check::Edited;
pub use crate::rewrite::undo::planner::undo;
pub use crate::rewrite::vm::{GeneratedDocument, mesh_yamls, workload_groups};
pub use plan::{Decision, Direction, Plan, PodRewrite, RewriteInput};
pub use planner::plan;
pub use preview::{ProxyConfigurations, proxies};
pub use unknown_kind::remove_unknown_kinds;
pub use unrewritten::unrewritten_handlers;
