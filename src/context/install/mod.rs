//! Decides which control plane serves which workload.
//!
//! Distance decides as for every other fact: the control planes whose files are nearest to the
//! workload's, and those in folders above it, are in scope. Of one revision, only the nearest is.

pub(super) mod alike;
pub(super) mod assemble;
pub(super) mod conflict;
pub(super) mod facts;
pub(super) mod labels;
pub(super) mod plane_index;
pub(super) mod positions;
pub(super) mod server;
pub(super) mod serving;
pub(super) mod traffic_capture;
pub(super) mod view;

pub(super) use alike::Alike;
pub(super) use assemble::{Installations, installations};
pub use conflict::Conflict;
pub(super) use plane_index::PlaneIndex;
pub use view::InstallView;
