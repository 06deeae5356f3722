//! Groups the rows of `predict` by workload, and merges those that are equal in several environments.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_predict::predict::{EnvironmentNames, MachinePrediction, WorkloadPrediction};

use super::row::{Row, handler_row, machine_row};
use super::shown::{Document, Shown, in_file_order};

/// The rows of one workload, in all environments that deploy it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadRows {
    /// `shop/Deployment/web`, with its namespace if one is written.
    pub workload: String,
    /// The names of its environments that are shown; empty if only one deploys it.
    pub environments: Vec<Arc<str>>,
    /// The rows. Those of one handler are adjacent.
    pub rows: Vec<Row>,
}

/// Returns the rows of the table: one per handler and one per check of virtual machines, by workload in the order of the
/// files. Rows that are equal in several environments are merged. Omits workloads that are only context.
#[must_use]
pub fn table(
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
) -> Vec<WorkloadRows> {
    let names = EnvironmentNames::of(predictions);
    let shared = shared_workloads(predictions, &names);
    let handlers = predictions.iter().flat_map(WorkloadPrediction::shown);
    let machines = machines.iter();
    let shown = handlers
        .map(|(pod, handler)| Shown::new(&pod.workload.object, &names, handler_row(pod, handler)))
        .chain(machines.map(|machine| Shown::new(&machine.group, &names, machine_row(machine))));
    group_by_workload(in_file_order(shown.collect()), &shared)
}

/// The document of a workload, and its name.
type WorkloadKey = (Document, String);

/// Returns the workloads that several environments deploy, also environments that are not shown.
fn shared_workloads(
    predictions: &[WorkloadPrediction<'_>],
    names: &EnvironmentNames,
) -> HashSet<WorkloadKey> {
    let mut first: HashMap<WorkloadKey, Arc<str>> = HashMap::new();
    let mut shared = HashSet::new();
    for prediction in predictions {
        let shown = Shown::new(&prediction.workload.object, names, ());
        if let Some(environment) = shown.environment {
            let key = (shown.document, prediction.full_name());
            let known = first.entry(key.clone());
            if *known.or_insert_with(|| Arc::clone(&environment)) != environment {
                shared.insert(key);
            }
        }
    }
    shared
}

/// Groups rows by workload. Rows that are equal in several environments become one row that names them.
fn group_by_workload(shown: Vec<Shown<Row>>, shared: &HashSet<WorkloadKey>) -> Vec<WorkloadRows> {
    let mut groups: Vec<WorkloadRows> = Vec::new();
    let mut is_shared = Vec::new();
    let mut numbers = HashMap::new();
    for Shown {
        document,
        environment,
        item: row,
        ..
    } in shown
    {
        let next = groups.len();
        let key = (document, row.workload.clone());
        let is_in_several = shared.contains(&key);
        let number = *numbers.entry(key).or_insert(next);
        if number == next {
            is_shared.push(is_in_several);
            groups.push(WorkloadRows {
                workload: row.workload.clone(),
                ..WorkloadRows::default()
            });
        }
        if let Some(group) = groups.get_mut(number) {
            group.add(row, environment);
        }
    }
    let groups = groups.into_iter().zip(is_shared);
    groups
        .map(|(group, is_shared)| if is_shared { group } else { group.finished() })
        .collect()
}

impl WorkloadRows {
    fn add(&mut self, mut row: Row, environment: Option<Arc<str>>) {
        if let Some(environment) = environment {
            if !self.environments.contains(&environment) {
                self.environments.push(Arc::clone(&environment));
            }
            let equal = self.rows.iter_mut().find(|other| {
                other.is_equal(&row)
                    && !other.environments.is_empty()
                    && !other.environments.contains(&environment)
            });
            if let Some(equal) = equal {
                return equal.environments.push(environment);
            }
            row.environments.push(environment);
        }
        let rows = &mut self.rows;
        let above = rows
            .iter()
            .rposition(|other| other.is_same_probe(&row))
            .or_else(|| rows.iter().rposition(|other| other.is_of(&row)));
        rows.insert(above.map_or(rows.len(), |at| at + 1), row);
    }

    /// Omits the name of the only environment.
    fn finished(mut self) -> Self {
        if self.environments.len() < 2 {
            self.environments.clear();
            for row in &mut self.rows {
                row.environments.clear();
            }
        }
        self
    }
}
