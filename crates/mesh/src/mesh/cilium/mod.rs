//! Cilium with mutual authentication or ztunnel: it adds no proxy to pods and does not change probes.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path does not change) and "Policy Enforcement Modes" (`allow-localhost: auto` accepts
//! connections from the node). Nothing was run.

mod definition;
mod keys;
mod known_keys;
mod model;
mod name;
mod policy_enforcement;
mod setups;
mod ztunnel;

pub(super) use definition::DEFINITION;
pub use keys::HBONE_PORT;
pub use policy_enforcement::drops_unselected;
pub use ztunnel::enrolled;
