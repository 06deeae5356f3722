//! The way of a probe from the kubelet to the application, hop by hop, as far as a prediction determines it.

mod agent;
mod facts;
mod hop;
mod hops;
mod sidecar;
mod way;

pub use facts::RouteFacts;
pub use hop::{Hop, HopKind, HopState};
