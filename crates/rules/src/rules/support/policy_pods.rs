//! The pods that policies apply to, collected once for all policies with the same namespace and selector.

use std::cell::OnceCell;
use std::rc::Rc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::{LabelSelector, Object, PeerAuthentication};
use meshprobe_predict::context::{Dataplane, NamespaceKey, PolicyScope};
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;

/// The maximum number of cached pods, because there may be as many files as pods.
const MAX_CACHED_PODS: usize = 1 << 20;

/// The pods that a policy applies to.
#[derive(Debug)]
pub(in crate::rules) struct PolicyPods<'s, 't> {
    /// All pods, in the order of the predictions.
    pub(in crate::rules) pods: Vec<&'s WorkloadPrediction<'t>>,
    /// The first pod of each dataplane.
    firsts: Vec<&'s WorkloadPrediction<'t>>,
    all_are: OnceCell<bool>,
}

impl<'s, 't> PolicyPods<'s, 't> {
    fn new(pods: Vec<&'s WorkloadPrediction<'t>>) -> Self {
        let mut firsts: Vec<&WorkloadPrediction<'_>> = Vec::new();
        for pod in &pods {
            let dataplane = pod.dataplane.value;
            if firsts
                .iter()
                .all(|first| first.dataplane.value != dataplane)
            {
                firsts.push(pod);
            }
        }
        Self {
            pods,
            firsts,
            all_are: OnceCell::new(),
        }
    }

    /// Returns the first pod with this dataplane.
    pub(in crate::rules) fn first_of(
        &self,
        wanted: Dataplane,
    ) -> Option<&'s WorkloadPrediction<'t>> {
        self.firsts
            .iter()
            .copied()
            .find(|pod| pod.dataplane.value == wanted)
    }

    /// Returns whether all pods pass `test`. The result is cached, so the test must be the same in every call.
    pub(in crate::rules) fn all_are(&self, test: impl Fn(&WorkloadPrediction<'t>) -> bool) -> bool {
        let test_all = || self.pods.iter().all(|pod| test(pod));
        *self.all_are.get_or_init(test_all)
    }
}

/// What determines the pods that a policy applies to.
type Key<'t> = (PolicyScope, NamespaceKey, LabelSelector<'t>);

/// The pods of the policies that a rule checks.
#[derive(Debug, Default)]
pub(in crate::rules) struct PolicyPodsCache<'s, 't> {
    known: HashMap<Key<'t>, Rc<PolicyPods<'s, 't>>>,
    cached_pods: usize,
}

impl<'s, 't> PolicyPodsCache<'s, 't> {
    /// Returns the pods that a policy with this scope applies to ([`RuleContext::workloads_of_policy`]).
    pub(in crate::rules) fn of(
        &mut self,
        cx: &RuleContext<'s, 't>,
        policy: &Object<'t>,
        policy_scope: PolicyScope,
    ) -> Rc<PolicyPods<'s, 't>> {
        let selector = match policy_scope {
            PolicyScope::Workloads => PeerAuthentication::of(policy).selector(),
            _ => LabelSelector::default(),
        };
        let key = (
            policy_scope,
            cx.context.namespace_of(policy).key(),
            selector,
        );
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let pods = Rc::new(PolicyPods::new(
            cx.workloads_of_policy(policy, policy_scope),
        ));
        if self.cached_pods + pods.pods.len() < MAX_CACHED_PODS {
            self.cached_pods += pods.pods.len();
            self.known.insert(key, Rc::clone(&pods));
        }
        pods
    }
}
