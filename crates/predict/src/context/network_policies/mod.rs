//! The NetworkPolicies of a workload.

pub(in crate::context) mod admitted_ports;
pub(in crate::context) mod facet;
pub(in crate::context) mod ingress_rule;
pub(in crate::context) mod isolating;
