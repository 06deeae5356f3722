//! What enabling the rewrite does to a pod, kept for all findings about it.

use std::ptr::from_ref;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};

use crate::finding::Applicability;
use crate::predict::{Outcome, WorkloadPrediction};
use crate::yaml::Route;

/// The effect of enabling the rewrite for one pod.
#[derive(Debug)]
pub(super) struct RewriteCure {
    /// Whether the fix may be applied.
    pub(super) applicability: Applicability,
    /// What to know before it is applied.
    pub(super) help: Option<String>,
    /// The hooks that then do what they do without a mesh.
    restored_hooks: HashSet<Route>,
}

impl RewriteCure {
    /// Collects the hooks that `after`, the prediction with the rewrite enabled, restores.
    pub(super) fn new(
        after: &WorkloadPrediction<'_>,
        applicability: Applicability,
        help: Option<String>,
    ) -> Self {
        let hooks = after
            .handlers
            .iter()
            .filter(|one| one.handler.slot.is_lifecycle() && one.verdict.outcome == Outcome::Ok);
        Self {
            applicability,
            help,
            restored_hooks: hooks.map(|one| one.handler.route.clone()).collect(),
        }
    }

    /// Tells whether the hook at this route then does what it does without a mesh.
    pub(super) fn restores_hook(&self, route: &Route) -> bool {
        self.restored_hooks.contains(route)
    }
}

/// The cures of the pods of one scene: one prediction per pod, however many findings it has.
#[derive(Debug, Default)]
pub(super) struct RewriteCures(Mutex<HashMap<usize, Arc<RewriteCure>>>);

impl RewriteCures {
    /// Returns the cure of a pod of the scene, worked out on the first call.
    pub(super) fn of(
        &self,
        pod: &WorkloadPrediction<'_>,
        work_out: impl FnOnce() -> RewriteCure,
    ) -> Arc<RewriteCure> {
        // The predictions of a scene stay where they are as long as the scene.
        let key = from_ref(pod).cast::<u8>().addr();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cure) = known.get(&key) {
            return Arc::clone(cure);
        }
        drop(known);
        let cure = Arc::new(work_out());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert(cure))
    }
}
