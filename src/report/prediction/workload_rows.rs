//! Groups the rows of `predict` by workload, and merges those that are equal in several environments.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::predict::{EnvironmentNames, MachinePrediction, WorkloadPrediction};

use super::row::Row;
use super::shown::{Shown, in_file_order};

/// The rows of one workload, in all environments that deploy it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadRows {
    /// `shop/Deployment/web`, with its namespace if one is written.
    pub workload: String,
    /// The names of its environments; empty if it has only one.
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
    let handlers = predictions.iter().flat_map(WorkloadPrediction::shown);
    let machines = machines.iter();
    let shown = handlers
        .map(|(pod, handler)| Shown::new(&pod.workload.object, &names, pod.row(handler)))
        .chain(machines.map(|machine| Shown::new(&machine.group, &names, machine.row())));
    group_by_workload(in_file_order(shown.collect()))
}

/// Groups rows by workload. Rows that are equal in several environments become one row that names them.
fn group_by_workload(shown: Vec<Shown<Row>>) -> Vec<WorkloadRows> {
    let mut groups: Vec<WorkloadRows> = Vec::new();
    let mut numbers = HashMap::new();
    for Shown {
        document,
        environment,
        item: row,
        ..
    } in shown
    {
        let next = groups.len();
        let number = *numbers
            .entry((document, row.workload.clone()))
            .or_insert(next);
        if number == next {
            groups.push(WorkloadRows {
                workload: row.workload.clone(),
                ..WorkloadRows::default()
            });
        }
        if let Some(group) = groups.get_mut(number) {
            group.add(row, environment);
        }
    }
    groups.into_iter().map(WorkloadRows::finished).collect()
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
