//! Which `AuthorizationPolicy` decides about the request of a probe.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kube::{LabelSelector, Object, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::authz::{self, Match, Request};
use crate::yaml::NodeRef;

use super::Context;
use super::applying_policies::ApplyingPolicies;
use super::audience::Refused;

/// What the policies do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// It passes.
    Allowed,
    /// It is refused.
    Denied,
    /// Only the running mesh knows.
    Unknown,
}

/// What a policy does with the requests that its rules match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    Allow,
    Deny,
    Custom,
    Audit,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// Policies that allow something, of which no rule allows it.
    NoAllow,
    /// A rule of a policy that denies.
    Deny,
    /// A rule that speaks of HTTP where only bytes are seen: an ALLOW rule vanishes, a DENY rule
    /// loses the field. Without that the request would pass.
    FieldsLost,
}

/// Why a probe is not what an allowing rule lets pass, or is what a denying one stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The kubelet has no identity in the mesh.
    Identity,
    /// These fields of the rules name something else.
    Fields(Vec<String>),
    /// There is no rule that could.
    NoRule,
    /// The rule holds for all callers.
    Everybody,
}

/// What refuses a request.
#[derive(Clone, Debug)]
pub struct Refusal<'t> {
    /// Why.
    pub by: RefusedBy,
    /// The policy that decides.
    pub policy: Object<'t>,
    /// The rule that decides, where one does.
    pub rule: Option<NodeRef<'t>>,
    /// What of the request decides.
    pub misfit: Misfit,
}

impl<'t> Context<'t> {
    /// Decides about the request of a probe to a pod of `workload`.
    #[must_use]
    pub fn authorization(&self, workload: &Workload<'t>, request: &Request) -> Fact<Authorization> {
        if self.inventory.authorization_policies.is_empty() {
            return none_refuses();
        }
        let key = (self.audience(workload), request.clone());
        let all = &self.inventory.authorization_policies;
        let work_out = || decision(all, &self.applying_policies(workload), request);
        self.authorizations.decisions.of(key, work_out)
    }

    /// Says what refuses a request; `None` where nothing does for certain.
    #[must_use]
    pub fn refusal(&self, workload: &Workload<'t>, request: &Request) -> Option<Refusal<'t>> {
        if self.authorization(workload, request).value != Authorization::Denied {
            return None;
        }
        let key = (self.audience(workload), request.clone());
        let work_out = || self.first_refusal(workload, request);
        let refused = self.authorizations.refusals.of(key, work_out)?;
        let (policy, rule) = self.rule_at(refused.place)?;
        Some(Refusal {
            by: refused.by,
            policy: policy.clone(),
            rule,
            misfit: refused.misfit,
        })
    }

    fn first_refusal(&self, workload: &Workload<'t>, request: &Request) -> Option<Refused> {
        let (all, applying) = (
            &self.inventory.authorization_policies,
            self.applying_policies(workload),
        );
        let as_http = Request {
            is_http: true,
            ..request.clone()
        };
        let lost = !request.is_http
            && self.authorization(workload, &as_http).value == Authorization::Allowed;
        let refusal = |by, policy: &Object<'t>, rule: Option<NodeRef<'t>>| {
            Some(Refused {
                by: if lost { RefusedBy::FieldsLost } else { by },
                place: self.rule_place(policy, rule)?,
                misfit: match rule {
                    Some(rule) if asks_who(rule) => Misfit::Identity,
                    Some(_) => Misfit::Everybody,
                    None => not_allowed(applying.all(all), request),
                },
            })
        };
        if let Some((policy, rule)) = applying.found(all, Action::Deny, request, Match::Yes) {
            return refusal(RefusedBy::Deny, policy, Some(rule));
        }
        if lost
            && let Some((policy, rule)) = applying.found(all, Action::Allow, &as_http, Match::Yes)
        {
            return refusal(RefusedBy::NoAllow, policy, Some(rule));
        }
        let first = applying.first_allowing(all)?;
        refusal(RefusedBy::NoAllow, first, None)
    }

    /// Returns the `AuthorizationPolicy`s that hold for the pods of `workload`.
    pub(super) fn applying_policies(&self, workload: &Workload<'t>) -> Arc<ApplyingPolicies> {
        let key = self.audience(workload);
        let work_out = || {
            let all = &self.inventory.authorization_policies;
            let policies = self.authorization_policies(workload).into_iter();
            let positions = policies.filter_map(|policy| all.element_offset(policy));
            Arc::new(ApplyingPolicies::of(all, positions.collect()))
        };
        self.authorizations.applying.of(key, work_out)
    }

    fn authorization_policies(&self, workload: &Workload<'t>) -> Vec<&Object<'t>> {
        let all = &self.inventory.authorization_policies;
        let root = self.root_namespace(workload).value;
        let (own, _) = self.namespace_of(&workload.object);
        let labels = workload.template.labels();
        let policies = all.selecting_in_either(own, &root, labels).into_iter();
        policies
            .filter(|policy| {
                let home = self.namespace_of(policy).0;
                (home == root || self.shares_namespace(policy, &workload.object))
                    && self
                        .inventory
                        .forks
                        .join(policy.home(), workload.object.home())
                    && applies(policy, workload)
            })
            .collect()
    }
}

/// Decides about a request to a pod to which these policies apply.
fn decision(
    all: &[Object<'_>],
    applying: &ApplyingPolicies,
    request: &Request,
) -> Fact<Authorization> {
    let found = |action, kind| applying.found(all, action, request, kind);
    let because = |value, policy: &Object<'_>, message: String| {
        Fact::known(value, policy.label_at(policy.name_span(), message))
    };
    let unknown = |(policy, _): (&Object<'_>, NodeRef<'_>)| {
        let message = format!(
            "AuthorizationPolicy `{}` depends on what only the running mesh knows",
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
    let Some(first) = applying.first_allowing(all) else {
        return none_refuses();
    };
    if found(Action::Allow, Match::Yes).is_some() {
        return Fact::settled(Authorization::Allowed, "an AuthorizationPolicy allows it");
    }
    if let Some(found) = found(Action::Allow, Match::Unknown) {
        return unknown(found);
    }
    let message = format!(
        "AuthorizationPolicy `{}` allows only what its rules name",
        first.name()
    );
    because(Authorization::Denied, first, message)
}

fn none_refuses() -> Fact<Authorization> {
    Fact::settled(Authorization::Allowed, "no AuthorizationPolicy refuses it")
}

/// Returns the labels that a policy asks of the pods to which it allows requests; `None` for a policy that allows none.
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
    LabelSelector::from_mapping(selector.and_then(|selector| selector.get("matchLabels")))
}

/// Policies with `targetRefs` are for waypoints and gateways; dry runs decide nothing.
fn is_enforced(policy: &Object<'_>) -> bool {
    let spec = policy.node.get("spec");
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    if get("targetRef").is_some() || get("targetRefs").is_some() {
        return false;
    }
    let dry_run = policy
        .annotation("istio.io/dry-run")
        .and_then(|entry| entry.value.text());
    dry_run != Some("true")
}

pub(super) fn action(policy: &Object<'_>) -> Action {
    let word = policy.node.get("spec").and_then(|spec| spec.get("action"));
    match word.and_then(NodeRef::text) {
        Some("DENY") => Action::Deny,
        Some("CUSTOM") => Action::Custom,
        Some("AUDIT") => Action::Audit,
        _ => Action::Allow,
    }
}

/// On a TCP chain an ALLOW rule with an HTTP field vanishes; a DENY rule loses the field.
pub(super) fn rule_matches(rule: NodeRef<'_>, action: Action, request: &Request) -> Match {
    if !request.is_http && action == Action::Allow && needs_http(rule) {
        return Match::No;
    }
    Match::all([
        clauses(rule.get("from"), "source", request),
        clauses(rule.get("to"), "operation", request),
        conditions(rule.get("when"), request),
    ])
}

fn needs_http(rule: NodeRef<'_>) -> bool {
    let clause = |list: &str, key: &str| {
        let items = rule.get(list).into_iter().flat_map(NodeRef::items);
        items
            .filter_map(|item| item.get(key))
            .flat_map(NodeRef::effective_entries)
            .any(|entry| entry.key.text().is_some_and(authz::is_http_field))
    };
    let when = rule.get("when").into_iter().flat_map(NodeRef::items);
    clause("from", "source")
        || clause("to", "operation")
        || when
            .filter_map(|item| item.get("key"))
            .any(|key| key.text().is_some_and(authz::is_http_condition))
}

/// A list of alternatives, each a mapping of fields that must all hold; absent matches all.
fn clauses(list: Option<NodeRef<'_>>, key: &str, request: &Request) -> Match {
    // An empty list says as much as none at all.
    let Some(list) = list.filter(|list| list.items().len() > 0) else {
        return Match::Yes;
    };
    let alternatives = list.items().filter_map(|item| item.get(key));
    Match::any(alternatives.map(|clause| {
        let fields = clause.effective_entries().into_iter().filter_map(|entry| {
            let name = entry.key.text()?;
            let skipped = !request.is_http && authz::is_http_field(name);
            (!skipped).then(|| authz::field(name, &texts(Some(entry.value)), request))
        });
        Match::all(fields)
    }))
}

/// Tells whether a rule depends on the identity of the caller.
fn asks_who(rule: NodeRef<'_>) -> bool {
    let mut conditions = rule.get("when").into_iter().flat_map(NodeRef::items);
    rule.get("from").is_some() || conditions.any(is_identity)
}

fn is_identity(condition: NodeRef<'_>) -> bool {
    let key = condition.get("key").and_then(NodeRef::text);
    key.is_some_and(|key| key.starts_with("source.") || key.starts_with("request.auth."))
}

/// Says why no rule that allows is for the request: one that names it otherwise wants an identity,
/// or all name something else.
fn not_allowed<'a, 't: 'a>(
    policies: impl Iterator<Item = &'a Object<'t>>,
    request: &Request,
) -> Misfit {
    let allowing = policies.filter(|one| action(one) == Action::Allow);
    let specs = allowing.filter_map(|policy| policy.node.get("spec")?.get("rules"));
    let mut rules = specs.flat_map(NodeRef::items).peekable();
    if rules.peek().is_none() {
        return Misfit::NoRule;
    }
    let mut fields = BTreeSet::new();
    for rule in rules {
        let others = fields_against(rule, request);
        if others.is_empty() {
            return Misfit::Identity;
        }
        fields.extend(others);
    }
    Misfit::Fields(fields.into_iter().collect())
}

/// The fields of a rule, those that ask who calls apart, that name something else than the request.
fn fields_against(rule: NodeRef<'_>, request: &Request) -> Vec<String> {
    let mut fields = Vec::new();
    if clauses(rule.get("to"), "operation", request) == Match::No {
        let items = rule.get("to").into_iter().flat_map(NodeRef::items);
        let operations = items.filter_map(|item| item.get("operation"));
        for entry in operations.flat_map(NodeRef::effective_entries) {
            let name = entry.key.text().unwrap_or_default();
            if authz::field(name, &texts(Some(entry.value)), request) == Match::No {
                fields.push(name.to_owned());
            }
        }
    }
    let conditions = rule.get("when").into_iter().flat_map(NodeRef::items);
    for condition in conditions.filter(|one| !is_identity(*one)) {
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

fn conditions(list: Option<NodeRef<'_>>, request: &Request) -> Match {
    let items = list.into_iter().flat_map(NodeRef::items);
    Match::all(items.filter_map(|item| {
        let key = item.get("key")?.text()?;
        let skipped = !request.is_http && authz::is_http_condition(key);
        let values = texts(item.get("values"));
        let not_values = texts(item.get("notValues"));
        (!skipped).then(|| authz::condition(key, &values, &not_values, request))
    }))
}

pub(super) fn texts<'t>(list: Option<NodeRef<'t>>) -> Vec<&'t str> {
    list.into_iter()
        .flat_map(NodeRef::items)
        .filter_map(NodeRef::text)
        .collect()
}
