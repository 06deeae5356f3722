//! The network plugin of the cluster of a workload, and the plugin's own policies.

pub(in crate::context) mod facet;
pub(in crate::context) mod plugin_policies;
pub(in crate::context) mod policy_namespace;
pub(in crate::context) mod security_groups;
