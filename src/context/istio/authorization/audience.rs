//! Caches the decisions of `AuthorizationPolicy`s for all pods to which the same policies apply.

use crate::context::istio::authorization::cache::{Audience, RulePlace};
use crate::context::istio::authorization::rules::rules;
use crate::context::istio::facets::AuthorizationFacts;
use crate::kube::Object;
use crate::yaml::NodeRef;

impl<'c, 't> AuthorizationFacts<'c, 't> {
    /// Returns the audience of the pods of `workload`.
    pub(in crate::context) fn audience(self) -> Audience {
        let (object, labels) = (&self.workload.object, self.workload.template.labels());
        let root = self.istio().root_namespace().value;
        let policies = &self.context.inventory.authorization_policies;
        let own = self.context.namespace_of(object);
        let root_key =
            self.context
                .fact_cache
                .namespace_key(object, object.location_file(), (&root, true));
        Audience {
            own: (own.key(), policies.selector_labels(own.name, labels)),
            root: (root_key, policies.selector_labels(&root, labels)),
        }
    }

    /// Returns the positions of a policy and of one of its rules; `None` if the inventory does not
    /// contain the policy.
    pub(in crate::context) fn rule_place(
        self,
        policy: &Object<'t>,
        rule: Option<NodeRef<'t>>,
    ) -> Option<RulePlace> {
        let all = &self.context.inventory.authorization_policies;
        let position = |rule: NodeRef<'t>| rules(policy).position(|other| other.id() == rule.id());
        Some(RulePlace {
            policy: all.element_offset(policy)?,
            rule: rule.and_then(position),
        })
    }

    /// Returns the policy and the rule at a position.
    pub(in crate::context) fn rule_at(
        self,
        place: RulePlace,
    ) -> Option<(&'c Object<'t>, Option<NodeRef<'t>>)> {
        let policy = self
            .context
            .inventory
            .authorization_policies
            .get(place.policy)?;
        let rule = place.rule.and_then(|rule| rules(policy).nth(rule));
        Some((policy, rule))
    }
}
