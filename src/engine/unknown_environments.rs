//! Names of environments that the user gives and that no environment has.

use std::collections::BTreeSet;

use crate::context::Context;
use crate::predict::{EnvironmentNames, WorkloadPrediction};

/// Names of environments that the tree does not have, and those that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownEnvironments {
    /// The names that the user gives.
    pub given: Vec<String>,
    /// The short names of all environments.
    pub known: BTreeSet<String>,
}

/// Returns the names in the settings that no environment has; `None` if all are known.
#[must_use]
pub fn unknown_environments(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Option<UnknownEnvironments> {
    let given = context.unknown_environments();
    if given.is_empty() {
        return None;
    }
    let mut known: BTreeSet<String> = context.environment_names().map(str::to_owned).collect();
    known.extend(EnvironmentNames::of(predictions).all());
    Some(UnknownEnvironments { given, known })
}
