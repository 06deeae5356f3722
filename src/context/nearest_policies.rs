//! The `PeerAuthentication`s of a scope that are nearest to a file, found once for all pods that they select alike.

use std::sync::Arc;

use crate::kube::{Object, PeerAuthentication, Workload};
use crate::source::placeholder;
use crate::yaml::NodeRef;

use super::inventory::nearest;
use super::label_index::AskedLabel;
use super::{Context, Facts};

/// How many policies of one scope are weighed against each other; more of them are a fault of
/// their own.
const RIVALS: usize = 4;

/// The scope of policies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PolicyScope {
    /// The whole mesh: no selector, in the root namespace.
    Mesh,
    /// A namespace: no selector.
    Namespace,
    /// Pods with labels that a selector asks for.
    Pods(Vec<AskedLabel>),
}

/// The nearest policies of one scope by name, because equal age falls back to the name. They are positions among all
/// policies, and no more than are needed: there may be as many policies as pods.
#[derive(Clone, Debug, Default)]
pub(super) struct NearestPolicies {
    first: Vec<usize>,
    undecided: Vec<usize>,
}

impl NearestPolicies {
    fn of<'t>(all: &[Object<'t>], mut policies: Vec<&Object<'t>>) -> Self {
        policies.sort_by_key(|policy| policy.name());
        let position = |policy: &&Object<'t>| all.element_offset(policy);
        let mut undecided = Vec::new();
        for policy in &policies {
            let view = PeerAuthentication::of(policy);
            let mut ports = view.ports();
            let is_open = |mode: NodeRef<'_>| mode.text().is_some_and(placeholder::contains);
            let own = view.mode().is_some_and(|mode| is_open(mode.value));
            if own || ports.any(|port| port.mode.is_some_and(|mode| is_open(mode.value))) {
                undecided.extend(position(policy));
            }
            // It leaves every port open: no other one is reported.
            if own {
                break;
            }
        }
        Self {
            first: policies.iter().take(RIVALS).filter_map(position).collect(),
            undecided,
        }
    }

    /// Iterates over the first policies, those that are weighed against each other.
    pub(super) fn first<'s, 't>(
        &'s self,
        all: &'s [Object<'t>],
    ) -> impl Iterator<Item = &'s Object<'t>> {
        self.first.iter().filter_map(|&at| all.get(at))
    }

    /// Iterates over policies with a mode that another tool fills in, up to one whose own mode is.
    pub(super) fn undecided<'s, 't>(
        &'s self,
        all: &'s [Object<'t>],
    ) -> impl Iterator<Item = &'s Object<'t>> {
        self.undecided.iter().filter_map(|&at| all.get(at))
    }
}

impl<'t> Context<'t> {
    fn policies(&self) -> &Facts<'t, Object<'t>> {
        &self.inventory.peer_authentications
    }

    /// Returns the policies without selector of a namespace: of that of `object`, or of the root namespace.
    pub(super) fn policies_without_selector(
        &self,
        object: &Object<'t>,
        namespace: &str,
        scope: PolicyScope,
    ) -> Arc<NearestPolicies> {
        let is_root = scope == PolicyScope::Mesh;
        let place = if is_root {
            (namespace, true)
        } else {
            self.namespace_of(object)
        };
        let key = (self.memo.scope(object, place), scope);
        self.memo.policies.of(key, || {
            let wanted = self.policies().unselective_in(namespace).filter(|policy| {
                (is_root || self.shares_namespace(policy, object))
                    && self.inventory.forks.join(policy.home(), object.home())
            });
            let found = nearest(wanted, object.home());
            Arc::new(NearestPolicies::of(self.policies(), found))
        })
    }

    /// Returns the policies that select the pods of `workload`.
    pub(super) fn policies_selecting(&self, workload: &Workload<'t>) -> Arc<NearestPolicies> {
        let object = &workload.object;
        let place = self.namespace_of(object);
        let labels = workload.template.labels();
        let scope = PolicyScope::Pods(self.policies().asked_labels(place.0, labels));
        let key = (self.memo.scope(object, place), scope);
        self.memo.policies.of(key, || {
            let wanted = self.beside_selecting(self.policies(), workload);
            let wanted =
                wanted.filter(|policy| PeerAuthentication::of(policy).selector().matches(labels));
            let found = nearest(wanted, object.home());
            Arc::new(NearestPolicies::of(self.policies(), found))
        })
    }
}
