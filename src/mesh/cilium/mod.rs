//! Cilium with mutual authentication: it adds no proxy to pods and does not change probes.
//!
//! Sources: the documentation of Cilium, "Mutual Authentication" (agents authenticate out of band,
//! the data path does not change) and "Policy Enforcement Modes" (`allow-localhost: auto` accepts
//! connections from the node). Nothing was run.

mod definition;
mod model;
mod name;
mod policy_enforcement;
mod setups;

pub(super) use definition::DEFINITION;
pub(crate) use policy_enforcement::drops_unselected;
