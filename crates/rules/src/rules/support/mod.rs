//! Helpers that several rules share.

pub(in crate::rules) mod chart_values;
pub(in crate::rules) mod disable_rewrite;
pub(in crate::rules) mod enable_rewrite;
pub(in crate::rules) mod environments;
pub(in crate::rules) mod finding_builder;
pub(in crate::rules) mod fix_safety;
pub(in crate::rules) mod pod_metadata;
pub(in crate::rules) mod similar_names;
pub(in crate::rules) mod verdicts;
