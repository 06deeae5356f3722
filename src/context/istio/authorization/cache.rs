//! Cached decisions of `AuthorizationPolicy`s.

use std::sync::Arc;

use crate::context::fact_cache::{Cache, NamespaceKey};
use crate::context::istio::authorization::applying::ApplyingPolicies;
use crate::context::istio::authorization::denial::{Authorization, DenialReason, MismatchReason};
use crate::context::label_index::SelectorLabel;
use crate::mesh::Fact;
use crate::mesh::istio::authz::Request;

/// The values that decide which policies apply to a pod: its namespace and the root namespace, each
/// with the labels of the pod that the selectors of its policies name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::context) struct Audience {
    pub(in crate::context) own: (NamespaceKey, Vec<SelectorLabel>),
    pub(in crate::context) root: (NamespaceKey, Vec<SelectorLabel>),
}

/// The position of a policy in the inventory, and of a rule in the policy.
#[derive(Clone, Copy, Debug)]
pub(in crate::context) struct RulePlace {
    pub(in crate::context) policy: usize,
    pub(in crate::context) rule: Option<usize>,
}

/// The rule or policy that denies a request.
#[derive(Clone, Debug)]
pub(in crate::context) struct CachedDenial {
    pub(in crate::context) reason: DenialReason,
    pub(in crate::context) place: RulePlace,
    pub(in crate::context) mismatch: MismatchReason,
}

/// The rule that leaves open whether a request is denied.
#[derive(Clone, Debug)]
pub(in crate::context) struct UndecidedRule {
    pub(in crate::context) place: RulePlace,
    pub(in crate::context) denies: bool,
    pub(in crate::context) on: String,
}

/// Cached decisions about requests to the pods of an audience, and the policies that apply to them.
#[derive(Debug, Default)]
pub(in crate::context) struct Authorizations {
    pub(in crate::context) applying: Cache<Audience, Arc<ApplyingPolicies>>,
    pub(in crate::context) decisions: Cache<(Audience, Request), Fact<Authorization>>,
    pub(in crate::context) denials: Cache<(Audience, Request), Option<CachedDenial>>,
    pub(in crate::context) undecided: Cache<(Audience, Request), Option<UndecidedRule>>,
}
