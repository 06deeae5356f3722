//! Names of environments that the user gives, and that no environment with workloads has.

use std::collections::BTreeSet;

use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{EnvironmentNames, WorkloadPrediction};

/// Names of environments that the tree does not have or that select no workload, and those that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownEnvironments {
    /// The names that the user gives.
    pub given: Vec<String>,
    /// Whether environments have these names, but none of their workloads is among the given files, and others are.
    pub without_workloads: bool,
    /// The short names of all environments.
    pub known: BTreeSet<String>,
}

/// Returns the names in the settings that no environment has, or all if none of the workloads belongs to such an
/// environment; `None` if there is nothing to report.
#[must_use]
pub fn unknown_environments(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Option<UnknownEnvironments> {
    let mut given = context.unknown_environments();
    let mut without_workloads = false;
    if given.is_empty() {
        let mut groups = context.inventory.workload_groups.iter();
        let is_selected = predictions.iter().any(|prediction| prediction.is_target)
            || groups.any(|group| context.origin_of(group).is_target());
        if is_selected || !context.deselects_workloads() {
            return None;
        }
        given.clone_from(&context.settings.only_environments);
        without_workloads = true;
    }
    let mut known: BTreeSet<String> = context.environment_names().map(str::to_owned).collect();
    known.extend(EnvironmentNames::of(predictions).all());
    Some(UnknownEnvironments {
        given,
        without_workloads,
        known,
    })
}
