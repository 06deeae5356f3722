//! Decides which `AuthorizationPolicy` allows or denies the request of a probe.

use std::collections::BTreeSet;

use meshprobe_mesh::kube::{LabelSelector, Object, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::authz;
use meshprobe_mesh::mesh::istio::authz::{Match, Request};
use meshprobe_yaml::{NodeRef, Span};

use super::authorization_rules::{
    Action, action, http_field, match_clauses, rule_matches, rules, texts,
};
use crate::context::istio::pod_facts::PodFacts;
use crate::context::istio::policy_scope::IstioPolicy;

pub use super::authorization_rules::UndecidablePolicy;

impl<'c, 't> PodFacts<'c, 't> {
    /// Decides about the request of a probe to a pod of `workload`.
    #[must_use]
    pub fn authorization(&self, request: &Request) -> Fact<Authorization> {
        if self.context.inventory.authorization_policies.is_empty() {
            return none_denies();
        }
        decision(&self.applying_policies(), request)
    }

    /// Returns what denies a request; `None` if nothing certainly denies it.
    #[must_use]
    pub fn authorization_denial(&self, request: &Request) -> Option<AuthzDenial<'t>> {
        if self.authorization(request).value != Authorization::Denied {
            return None;
        }
        let applying = self.applying_policies();
        let as_http = Request {
            is_http: true,
            ..request.clone()
        };
        let lost = !request.is_http && self.authorization(&as_http).value == Authorization::Allowed;
        let denial = |by, policy: &Object<'t>, rule: Option<NodeRef<'t>>| {
            Some(AuthzDenial {
                reason: if lost { DenialReason::FieldsLost } else { by },
                policy: policy.clone(),
                rule,
                mismatch: match rule {
                    Some(rule) if depends_on_token(rule) => MismatchReason::Token,
                    Some(rule) if depends_on_identity(rule) => MismatchReason::Identity,
                    Some(_) => MismatchReason::AllCallers,
                    None => why_not_allowed(&applying.0, request),
                },
            })
        };
        if let Some((policy, rule)) = applying.found(Action::Deny, request, Match::Yes) {
            return denial(DenialReason::Deny, policy, Some(rule));
        }
        if lost && let Some((policy, rule)) = applying.found(Action::Allow, &as_http, Match::Yes) {
            return denial(DenialReason::NoAllow, policy, Some(rule));
        }
        denial(DenialReason::NoAllow, applying.first_allowing()?, None)
    }

    /// Returns the `AuthorizationPolicy`s that apply to the pods of `workload`.
    pub(in crate::context) fn applying_policies(&self) -> ApplyingPolicies<'c, 't> {
        ApplyingPolicies(self.authorization_policies())
    }

    fn authorization_policies(&self) -> Vec<&'c Object<'t>> {
        let all = &self.context.inventory.authorization_policies;
        let root = self.root_namespace().value;
        let own = self.context.namespace_of(&self.workload.object).name;
        let labels = self.workload.template.labels();
        let object = &self.workload.object;
        let environments = &self.context.inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(object);
        all.selecting_in_either(own, &root, labels)
            .into_iter()
            .filter(|policy| {
                let home = self.context.namespace_of(policy).name;
                (home == root || self.context.namespace_of(object).contains(policy))
                    && environments.may_apply(policy.location_file(), object.location_file())
                    && is_deployed_there(policy)
                    && applies(policy, self.workload)
            })
            .collect()
    }
}

/// Decides about a request to a pod to which these policies apply.
fn decision(applying: &ApplyingPolicies<'_, '_>, request: &Request) -> Fact<Authorization> {
    let found = |action, kind| applying.found(action, request, kind);
    let because = |value, policy: &Object<'_>, message: String| {
        Fact::known(value, policy.label_at(policy.name_span(), message))
    };
    let unknown = |(policy, _): (&Object<'_>, NodeRef<'_>)| {
        let message = format!(
            "AuthorizationPolicy `{}` depends on values that only the running mesh knows",
            policy.name()
        );
        because(Authorization::Unknown, policy, message)
    };
    let custom =
        found(Action::Custom, Match::Yes).or_else(|| found(Action::Custom, Match::Unknown));
    if let Some(found) = custom {
        return unknown(found);
    }
    if let Some((policy, _)) = found(Action::Deny, Match::Yes) {
        let message = format!("a rule of AuthorizationPolicy `{}` matches", policy.name());
        return because(Authorization::Denied, policy, message);
    }
    if let Some(found) = found(Action::Deny, Match::Unknown) {
        return unknown(found);
    }
    let Some(first) = applying.first_allowing() else {
        return none_denies();
    };
    if found(Action::Allow, Match::Yes).is_some() {
        return Fact::settled(
            Authorization::Allowed,
            "an AuthorizationPolicy allows the request",
        );
    }
    if let Some(found) = found(Action::Allow, Match::Unknown) {
        return unknown(found);
    }
    let message = format!(
        "AuthorizationPolicy `{}` allows only requests that its rules match",
        first.name()
    );
    because(Authorization::Denied, first, message)
}

fn none_denies() -> Fact<Authorization> {
    Fact::settled(
        Authorization::Allowed,
        "no AuthorizationPolicy denies the request",
    )
}

/// Returns the label selector of an enforced ALLOW policy; `None` for all other policies.
#[must_use]
pub fn allowed_selector<'t>(policy: &Object<'t>) -> Option<LabelSelector<'t>> {
    (action(policy) == Action::Allow && is_enforced(policy)).then(|| selector(policy))
}

fn applies(policy: &Object<'_>, workload: &Workload<'_>) -> bool {
    is_enforced(policy) && selector(policy).matches(workload.template.labels())
}

fn selector<'t>(policy: &Object<'t>) -> LabelSelector<'t> {
    let spec = policy.node.get("spec");
    let selector = spec.and_then(|spec| spec.get("selector"));
    LabelSelector::from_custom(selector.and_then(|selector| selector.get("matchLabels")))
}

/// Returns whether sidecars enforce a policy. Policies with `targetRefs` apply to waypoints and
/// gateways, and dry runs have no effect.
pub(in crate::context) fn is_enforced(policy: &Object<'_>) -> bool {
    let spec = policy.node.get("spec");
    let get = |key: &str| spec.and_then(|spec| spec.get_set(key));
    if get("targetRef").is_some() || get("targetRefs").is_some() {
        return false;
    }
    let dry_run = policy
        .annotation("istio.io/dry-run")
        .and_then(|entry| entry.value.text());
    dry_run != Some("true")
}

/// Returns whether a rule depends on the identity of the caller.
fn depends_on_identity(rule: NodeRef<'_>) -> bool {
    let mut conditions = rule.get("when").into_iter().flat_map(NodeRef::items);
    rule.get_set("from").is_some() || conditions.any(is_identity)
}

fn is_identity(condition: NodeRef<'_>) -> bool {
    let key = condition.get("key").and_then(NodeRef::text);
    key.is_some_and(|key| key.starts_with("source.") || key.starts_with("request.auth."))
}

/// Returns whether a rule is about the token of a request, and not about the identity of the caller in the mesh.
fn depends_on_token(rule: NodeRef<'_>) -> bool {
    let items = |key: &str| rule.get(key).into_iter().flat_map(NodeRef::items);
    let of_token = |key: Option<&str>| {
        matches!(key, Some("requestPrincipals" | "notRequestPrincipals"))
            || key.is_some_and(|key| key.starts_with("request.auth."))
    };
    let sources = items("from").filter_map(|from| from.get("source"));
    let callers = sources
        .flat_map(NodeRef::set_entries)
        .map(|entry| entry.key.text());
    let conditions = items("when")
        .filter(|condition| is_identity(*condition))
        .map(|condition| condition.get("key").and_then(NodeRef::text));
    let mut keys = callers.chain(conditions).peekable();
    keys.peek().is_some() && keys.all(of_token)
}

/// Returns why no ALLOW rule matches the request: a rule that matches apart from its `from` and
/// identity conditions requires an identity; otherwise, the fields of all rules differ.
fn why_not_allowed(policies: &[&Object<'_>], request: &Request) -> MismatchReason {
    let mut rules = policies
        .iter()
        .filter(|policy| action(policy) == Action::Allow)
        .filter_map(|policy| policy.node.get("spec")?.get("rules"))
        .flat_map(NodeRef::items)
        .peekable();
    if rules.peek().is_none() {
        return MismatchReason::NoRule;
    }
    let mut fields = BTreeSet::new();
    let mut needs_token = false;
    for rule in rules {
        let others = differing_fields(rule, request);
        match others.is_empty() {
            true if depends_on_token(rule) => needs_token = true,
            true => return MismatchReason::Identity,
            false => fields.extend(others),
        }
    }
    match needs_token {
        true => MismatchReason::Token,
        false => MismatchReason::Fields(fields.into_iter().collect()),
    }
}

/// Returns the fields of a rule whose values differ from the request, without those about the identity
/// of the caller.
fn differing_fields(rule: NodeRef<'_>, request: &Request) -> Vec<String> {
    let mut fields = Vec::new();
    if match_clauses(rule.get("to"), "operation", request) == Match::No {
        let operations = rule
            .get("to")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter_map(|item| item.get("operation"));
        for entry in operations.flat_map(NodeRef::set_entries) {
            let name = entry.key.text().unwrap_or_default();
            if authz::field(name, &texts(Some(entry.value)), request) == Match::No {
                fields.push(name.to_owned());
            }
        }
    }
    let conditions = rule.get("when").into_iter().flat_map(NodeRef::items);
    for condition in conditions.filter(|condition| !is_identity(*condition)) {
        let key = condition.get("key").and_then(NodeRef::text);
        let (values, others) = (
            texts(condition.get("values")),
            texts(condition.get("notValues")),
        );
        if let Some(key) = key
            && authz::condition(key, &values, &others, request) == Match::No
        {
            fields.push(key.to_owned());
        }
    }
    fields
}

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

/// The decision of the policies about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// The request is allowed.
    Allowed,
    /// The request is denied.
    Denied,
    /// The decision depends on values that only the running mesh knows.
    Unknown,
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// There are ALLOW policies, and none of their rules matches the request.
    NoAllow,
    /// A rule of a DENY policy matches the request.
    Deny,
    /// A rule has an HTTP field, and the filter chain is TCP: Istio drops an ALLOW rule, and drops the
    /// field of a DENY rule. On an HTTP filter chain the request would be allowed.
    FieldsLost,
}

/// Why no ALLOW rule matches a probe, or why a DENY rule matches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MismatchReason {
    /// The kubelet has no identity in the mesh.
    Identity,
    /// The rules require a JSON Web Token, which the kubelet does not send.
    Token,
    /// These fields of the rules have other values than the request.
    Fields(Vec<String>),
    /// The policy has no rule that could match.
    NoRule,
    /// The rule holds for all callers.
    AllCallers,
}

/// The policy that denies a request.
#[derive(Clone, Debug)]
pub struct AuthzDenial<'t> {
    /// Why it denies the request.
    pub reason: DenialReason,
    /// The policy that decides.
    pub policy: Object<'t>,
    /// The rule that decides, if one does.
    pub rule: Option<NodeRef<'t>>,
    /// The part of the request that decides.
    pub mismatch: MismatchReason,
}

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
