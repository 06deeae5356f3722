//! The rules of an `AuthorizationPolicy` that only a proxy for HTTP can check.
//!
//! Source: Istio 1.31, `pilot/pkg/serviceregistry/ambient/authorization.go`: ztunnel drops such a rule if its action is
//! ALLOW, and drops only the condition if its action is DENY.

use meshprobe_yaml::Span;

use crate::context::istio::authorization::decide::is_enforced;
use crate::context::istio::authorization::rules::{Action, action, http_field, rules};
use crate::context::istio::facets::IstioPolicy;

/// The first condition about HTTP requests of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRule {
    /// The key of the condition.
    pub field: Span,
    /// Whether the action of the policy is DENY, and not ALLOW.
    pub denies: bool,
}

impl IstioPolicy<'_, '_> {
    /// Returns the first condition that ztunnel cannot check; `None` if there is none, or if ztunnel does not enforce the
    /// policy.
    #[must_use]
    pub fn http_rule_at_ztunnel(self) -> Option<HttpRule> {
        let denies = match action(self.policy) {
            Action::Allow => false,
            Action::Deny => true,
            Action::Custom | Action::Audit => return None,
        };
        if !is_enforced(self.policy) {
            return None;
        }
        let field = rules(self.policy).find_map(http_field)?;
        Some(HttpRule { field, denies })
    }
}
