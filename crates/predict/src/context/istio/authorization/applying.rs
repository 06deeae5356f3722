//! The `AuthorizationPolicy`s that apply to pods.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::authz::{Match, Request};
use meshprobe_yaml::NodeRef;

use crate::context::istio::authorization::rules::{Action, action, rule_matches, rules};

/// The policies that apply to a pod, in the order of the inventory.
#[derive(Debug)]
pub(in crate::context) struct ApplyingPolicies<'c, 't>(pub(in crate::context) Vec<&'c Object<'t>>);

impl<'c, 't> ApplyingPolicies<'c, 't> {
    /// Returns the policies with an action.
    fn with(&self, wanted: Action) -> impl Iterator<Item = &'c Object<'t>> {
        let policies = self.0.iter().copied();
        policies.filter(move |policy| action(policy) == wanted)
    }

    /// Returns the first policy with the action ALLOW.
    pub(in crate::context) fn first_allowing(&self) -> Option<&'c Object<'t>> {
        self.with(Action::Allow).next()
    }

    /// Returns the first policy with this action and a rule for which the request has this match, and
    /// the rule.
    pub(in crate::context) fn found(
        &self,
        wanted: Action,
        request: &Request,
        kind: Match,
    ) -> Option<(&'c Object<'t>, NodeRef<'t>)> {
        self.with(wanted).find_map(|policy| {
            let mut rules = rules(policy);
            let rule = rules.find(|rule| rule_matches(*rule, wanted, request) == kind)?;
            Some((policy, rule))
        })
    }
}
