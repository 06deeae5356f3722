//! What `AuthorizationPolicy`s decide, worked out once for all pods to which the same policies apply.

use std::sync::Arc;

use crate::kube::{Object, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::authz::Request;
use crate::yaml::NodeRef;

use super::Context;
use super::applying_policies::ApplyingPolicies;
use super::authorization::{Authorization, Misfit, RefusedBy};
use super::label_index::AskedLabel;
use super::memo::{Answers, Scope};

/// What decides which policies apply to a pod: its namespace and the root namespace, each with the labels of the pod
/// that policies there ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Audience {
    own: (Scope, Vec<AskedLabel>),
    root: (Scope, Vec<AskedLabel>),
}

/// The positions of a policy among all, and of a rule in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RulePlace {
    policy: usize,
    rule: Option<usize>,
}

/// What refuses a request.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) by: RefusedBy,
    pub(super) place: RulePlace,
    pub(super) misfit: Misfit,
}

/// What leaves open whether a request is refused.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) place: RulePlace,
    pub(super) denies: bool,
    pub(super) on: String,
}

/// The answers about requests to the pods of an audience, and the policies that apply to them.
#[derive(Debug, Default)]
pub(super) struct Authorizations {
    pub(super) applying: Answers<Audience, Arc<ApplyingPolicies>>,
    pub(super) decisions: Answers<(Audience, Request), Fact<Authorization>>,
    pub(super) refusals: Answers<(Audience, Request), Option<Refused>>,
    pub(super) doubts: Answers<(Audience, Request), Option<Open>>,
}

impl<'t> Context<'t> {
    /// Returns the audience of the pods of `workload`.
    pub(super) fn audience(&self, workload: &Workload<'t>) -> Audience {
        let (object, labels) = (&workload.object, workload.template.labels());
        let root = self.root_namespace(workload).value;
        let of = |place: (&str, bool)| {
            let policies = &self.inventory.authorization_policies;
            let asked = policies.asked_labels(place.0, labels);
            (self.memo.scope(object, place), asked)
        };
        Audience {
            own: of(self.namespace_of(object)),
            root: of((&root, true)),
        }
    }

    /// Returns the place of a policy of the inventory and of one of its rules.
    pub(super) fn rule_place(
        &self,
        policy: &Object<'t>,
        rule: Option<NodeRef<'t>>,
    ) -> Option<RulePlace> {
        let all = &self.inventory.authorization_policies;
        let position = |rule: NodeRef<'t>| rules(policy).position(|one| one.id() == rule.id());
        Some(RulePlace {
            policy: all.element_offset(policy)?,
            rule: rule.and_then(position),
        })
    }

    /// Returns the policy and the rule at a place.
    pub(super) fn rule_at(&self, place: RulePlace) -> Option<(&Object<'t>, Option<NodeRef<'t>>)> {
        let policy = self.inventory.authorization_policies.get(place.policy)?;
        let rule = place.rule.and_then(|rule| rules(policy).nth(rule));
        Some((policy, rule))
    }
}

/// Iterates over the rules of a policy.
pub(super) fn rules<'t>(policy: &Object<'t>) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
    rules.into_iter().flat_map(NodeRef::items)
}
