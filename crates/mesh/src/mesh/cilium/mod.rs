//! Cilium with mutual authentication or ztunnel: it adds no proxy to pods and does not change probes.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path does not change) and "Policy Enforcement Modes" (`allow-localhost: auto` accepts
//! connections from the node). Nothing was run.

mod definition;
mod keys;
mod model;

pub(super) use definition::DEFINITION;
pub use keys::HBONE_PORT;
pub use model::{drops_unselected, enrolled};
