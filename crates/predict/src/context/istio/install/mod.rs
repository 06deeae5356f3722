//! Decides which control plane serves which workload.
//!
//! Distance decides as for every other fact: the control planes whose files are nearest to the
//! workload's, and those in folders above it, are in scope. Of one revision, only the nearest is.

pub(in crate::context) mod assemble;
pub(in crate::context) mod facts;
pub(in crate::context) mod proxy_settings;
pub(in crate::context) mod server;
pub(in crate::context) mod serving;
pub(in crate::context) mod view;

pub(in crate::context) use assemble::{Installations, installations};
pub use facts::REWRITE as REWRITE_SETTLE;
pub use view::{Conflict, InstallView};
