//! The verdicts for pods with an Istio sidecar or in ambient mode.

pub(crate) mod agent;
pub(crate) mod filter_chain;
pub(crate) mod kubelet;
pub(crate) mod prober_env;
pub(crate) mod rewrite_blocker;
pub(crate) mod verdict;
