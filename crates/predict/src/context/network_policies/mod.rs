//! The NetworkPolicies of a workload.

pub(in crate::context) mod facet;
pub(in crate::context) mod isolating;
