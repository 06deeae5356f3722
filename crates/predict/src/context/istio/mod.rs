//! The facts of Istio for a workload or a policy.

pub(in crate::context) mod authorization;
pub(in crate::context) mod authorization_rules;
pub(in crate::context) mod injection;
pub(in crate::context) mod install;
pub(in crate::context) mod mtls;
pub(in crate::context) mod mtls_environments;
pub(in crate::context) mod pod_facts;
pub(in crate::context) mod policy_scope;
pub(in crate::context) mod ports;
pub(in crate::context) mod rewriting;
pub(in crate::context) mod virtual_machines;
