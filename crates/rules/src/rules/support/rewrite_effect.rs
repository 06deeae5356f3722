//! The effect of turning the rewrite on for a pod, cached for all findings about the pod.

use std::ptr::from_ref;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::Applicability;
use meshprobe_predict::predict::{Outcome, WorkloadPrediction};
use meshprobe_yaml::FieldPath;

/// The effect of turning the rewrite on for one pod.
#[derive(Debug)]
pub(in crate::rules) struct RewriteEffect {
    /// The applicability of the fix.
    pub(in crate::rules) applicability: Applicability,
    /// The hooks that then work as without a mesh.
    restored_hooks: HashSet<FieldPath>,
}

impl RewriteEffect {
    /// Collects the hooks that work in `after`, the prediction with the rewrite on.
    pub(in crate::rules) fn new(
        after: &WorkloadPrediction<'_>,
        applicability: Applicability,
    ) -> Self {
        let hooks = after
            .handlers
            .iter()
            .filter(|hook| hook.handler.slot.is_lifecycle() && hook.verdict.outcome == Outcome::Ok);
        Self {
            applicability,
            restored_hooks: hooks.map(|hook| hook.handler.route.clone()).collect(),
        }
    }

    /// Returns whether the hook at this route then works as without a mesh.
    pub(in crate::rules) fn restores_hook(&self, route: &FieldPath) -> bool {
        self.restored_hooks.contains(route)
    }
}

/// The effects for the pods of one [`RuleContext`](crate::rules::RuleContext): one prediction per pod,
/// regardless of the number of findings.
#[derive(Debug, Default)]
pub(in crate::rules) struct RewriteEffects(Mutex<HashMap<usize, Arc<RewriteEffect>>>);

impl RewriteEffects {
    /// Returns the effect for a pod; the first call computes it with `compute`.
    pub(in crate::rules) fn of(
        &self,
        pod: &WorkloadPrediction<'_>,
        compute: impl FnOnce() -> RewriteEffect,
    ) -> Arc<RewriteEffect> {
        // The predictions of a rule context do not move during its lifetime, so the address identifies the pod.
        let key = from_ref(pod).cast::<u8>().addr();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(effect) = known.get(&key) {
            return Arc::clone(effect);
        }
        drop(known);
        let effect = Arc::new(compute());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert(effect))
    }
}
