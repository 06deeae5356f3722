//! The pods that policies are for, collected once for all policies of a file with one selector.

use std::cell::OnceCell;
use std::rc::Rc;

use hashbrown::HashMap;

use crate::context::{Dataplane, NamespaceKey, Reach};
use crate::kube::{LabelSelector, Object, PeerAuthentication};
use crate::predict::WorkloadPrediction;

use super::Scene;

/// No more pods than this are kept in total, because files may be as many as pods.
const KEPT: usize = 1 << 20;

/// The pods that a policy is for.
#[derive(Debug)]
pub(super) struct ReachedPods<'s, 't> {
    /// All of them, in their order.
    pub(super) pods: Vec<&'s WorkloadPrediction<'t>>,
    /// The first pod of each dataplane.
    firsts: Vec<&'s WorkloadPrediction<'t>>,
    all_are: OnceCell<bool>,
}

impl<'s, 't> ReachedPods<'s, 't> {
    fn new(pods: Vec<&'s WorkloadPrediction<'t>>) -> Self {
        let mut firsts: Vec<&WorkloadPrediction<'_>> = Vec::new();
        for pod in &pods {
            let dataplane = pod.dataplane.value;
            if firsts.iter().all(|one| one.dataplane.value != dataplane) {
                firsts.push(pod);
            }
        }
        Self {
            pods,
            firsts,
            all_are: OnceCell::new(),
        }
    }

    /// Returns the first pod of this dataplane.
    pub(super) fn first_of(&self, wanted: Dataplane) -> Option<&'s WorkloadPrediction<'t>> {
        let mut firsts = self.firsts.iter().copied();
        firsts.find(|pod| pod.dataplane.value == wanted)
    }

    /// Returns whether all pods pass the one test that the caller has for pods; it runs once.
    pub(super) fn all_are(&self, test: impl Fn(&WorkloadPrediction<'t>) -> bool) -> bool {
        let test_all = || self.pods.iter().all(|pod| test(pod));
        *self.all_are.get_or_init(test_all)
    }
}

/// What decides which pods a policy is for.
type Key<'t> = (Reach, NamespaceKey, LabelSelector<'t>);

/// The pods of the policies that a rule checks.
#[derive(Debug, Default)]
pub(super) struct ReachedPodsCache<'s, 't> {
    known: HashMap<Key<'t>, Rc<ReachedPods<'s, 't>>>,
    kept: usize,
}

impl<'s, 't> ReachedPodsCache<'s, 't> {
    /// Returns the pods that a policy with this reach is for ([`Scene::reached_by`]).
    pub(super) fn of(
        &mut self,
        scene: &Scene<'s, 't>,
        policy: &Object<'t>,
        reach: Reach,
    ) -> Rc<ReachedPods<'s, 't>> {
        let selector = match reach {
            Reach::Workloads => PeerAuthentication::of(policy).selector(),
            _ => LabelSelector::default(),
        };
        let key = (reach, scene.context.namespace_key(policy), selector);
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let reached = Rc::new(ReachedPods::new(scene.reached_by(policy, reach)));
        if self.kept + reached.pods.len() < KEPT {
            self.kept += reached.pods.len();
            self.known.insert(key, Rc::clone(&reached));
        }
        reached
    }
}
