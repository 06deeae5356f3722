//! From the prediction to intended changes: what the injector would do, written down ahead.
//!
//! All or nothing per pod: a guard that refuses one handler leaves the whole pod as it was.

mod form;
mod guard;
mod handlers;
mod machine;
mod notes;
mod overlay;
mod pod;
mod preview;
mod undo;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::{Context, Dataplane};
use crate::finding::Finding;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::Change;

use overlay::Overlaid;

pub use guard::ALLOWABLE;
pub use machine::{Machines, Made, mesh_yamls, workload_groups};
pub use preview::{Proxy, proxies};
pub use undo::undo;

/// The changes to one document.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRewrite {
    /// The file.
    pub path: Arc<str>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The changes, of all pods of the document.
    pub changes: Vec<Change>,
    /// How many pods are rewritten.
    pub pods: usize,
}

/// What a rewrite of the tree amounts to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The documents to change, in the order of the tree.
    pub documents: Vec<DocumentRewrite>,
    /// Refusals (errors that name their guard) and notes.
    pub findings: Vec<Finding>,
}

/// Plans the rewrite of every workload that is to be reported on. `rendered` are the predictions
/// of what kustomizations of the tree make of the same files.
#[must_use]
pub fn plan<'t>(
    context: &Context<'t>,
    predictions: &[WorkloadPrediction<'t>],
    rendered: &[WorkloadPrediction<'t>],
) -> Plan {
    let mut plan = Plan::default();
    // A file that several clusters deploy is predicted in each of them, and written once.
    let mut planned = BTreeSet::new();
    plan.findings
        .extend(overlay::only_context(predictions, rendered));
    for prediction in predictions.iter().filter(|prediction| prediction.is_target) {
        let object = &prediction.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        let outcome = match overlay::overlaid(prediction, rendered) {
            Overlaid::Plain => pod::rewrite(context, prediction),
            Overlaid::Agreed(agreed) => pod::rewrite(context, &agreed),
            Overlaid::Refused(refusal) => {
                if pod::has_work(prediction) {
                    plan.findings.push(refusal.finding(prediction));
                }
                continue;
            }
        };
        plan.findings.extend(outcome.findings);
        if !outcome.changes.is_empty() {
            plan.add(prediction, outcome.changes);
        }
    }
    plan
}

/// Returns the handlers that the mesh rewrites at admission and that are not rewritten ahead of
/// it: none of a pod that is not injected or that opted out.
#[must_use]
pub fn outstanding<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    let opted_out = !pod.rewrite.value && pod.prober_env.is_none();
    if pod.dataplane.value != Dataplane::Sidecar || opted_out || !pod.is_target {
        return Vec::new();
    }
    handlers::wanted(pod)
}

impl Plan {
    fn add(&mut self, prediction: &WorkloadPrediction<'_>, changes: Vec<Change>) {
        let document = prediction.workload.object.document;
        let same = |entry: &&mut DocumentRewrite| {
            entry.path == document.path && entry.document == document.index
        };
        if let Some(entry) = self.documents.last_mut().filter(same) {
            entry.changes.extend(changes);
            entry.pods += 1;
        } else {
            self.documents.push(DocumentRewrite {
                path: Arc::clone(&document.path),
                document: document.index,
                changes,
                pods: 1,
            });
        }
    }
}
