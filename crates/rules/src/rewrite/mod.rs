//! Turns predictions into intended changes: writes ahead of deployment what the injector would do.
//!
//! A pod gets all of its changes or none: a guard that refuses one handler prevents the rewrite of the whole pod.

mod carriers;
mod container_only;
mod form;
mod guards;
mod handlers;
mod injection_guards;
mod notes;
mod overlay;
mod overlay_check;
mod plan;
mod planner;
mod preview;
mod undo;
mod vm;

pub use guards::ALLOWABLE;
pub use overlay_check::Edited;
pub use plan::{Decision, Direction, Plan, PodRewrite, RewriteInput};
pub use planner::{plan, remove_unknown_kinds, unrewritten_handlers};
pub use preview::{ProxyConfigurations, proxies};
pub use undo::undo;
pub use vm::{GeneratedDocument, mesh_yamls};
