//! Which `AuthorizationPolicy` decides about the request of a probe.

use crate::finding::Label;
use crate::kube::{LabelSelector, Object, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::authz::{self, Match, Request};
use crate::yaml::NodeRef;

use super::Context;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Allow,
    Deny,
    Custom,
    Audit,
}

impl<'t> Context<'t> {
    /// Decides about the request of a probe to a pod of `workload`.
    #[must_use]
    pub fn authorization(&self, workload: &Workload<'t>, request: &Request) -> Fact<Authorization> {
        let root = self.root_namespace(workload).value;
        let policies = self.inventory.authorization_policies.iter();
        let applying: Vec<&Object<'t>> = policies
            .filter(|policy| {
                let home = self.namespace_of(policy).0;
                (home == root || self.shares_namespace(policy, &workload.object))
                    && self
                        .inventory
                        .forks
                        .join(policy.home(), workload.object.home())
                    && applies(policy, workload)
            })
            .collect();
        let custom = found(&applying, Action::Custom, request, Match::Yes)
            .or_else(|| found(&applying, Action::Custom, request, Match::Unknown));
        if let Some(place) = custom {
            return Fact::known(Authorization::Unknown, place);
        }
        if let Some(place) = found(&applying, Action::Deny, request, Match::Yes) {
            return Fact::known(Authorization::Denied, place);
        }
        if let Some(place) = found(&applying, Action::Deny, request, Match::Unknown) {
            return Fact::known(Authorization::Unknown, place);
        }
        let Some(first) = applying
            .iter()
            .find(|policy| action(policy) == Action::Allow)
        else {
            return Fact::settled(Authorization::Allowed, "no AuthorizationPolicy refuses it");
        };
        if found(&applying, Action::Allow, request, Match::Yes).is_some() {
            return Fact::settled(Authorization::Allowed, "an AuthorizationPolicy allows it");
        }
        if let Some(place) = found(&applying, Action::Allow, request, Match::Unknown) {
            return Fact::known(Authorization::Unknown, place);
        }
        let said = format!(
            "AuthorizationPolicy `{}` allows only what its rules name",
            first.name()
        );
        Fact::known(
            Authorization::Denied,
            first.label_at(first.name_span(), said),
        )
    }
}

/// Policies with `targetRefs` are for waypoints and gateways; dry runs decide nothing.
fn applies(policy: &Object<'_>, workload: &Workload<'_>) -> bool {
    let spec = policy.node.get("spec");
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    if get("targetRef").is_some() || get("targetRefs").is_some() {
        return false;
    }
    let dry_run = policy
        .annotation("istio.io/dry-run")
        .and_then(|entry| entry.value.text());
    if dry_run == Some("true") {
        return false;
    }
    let labels = get("selector").and_then(|selector| selector.get("matchLabels"));
    LabelSelector::from_mapping(labels).matches(workload.template.labels())
}

fn action(policy: &Object<'_>) -> Action {
    let word = policy.node.get("spec").and_then(|spec| spec.get("action"));
    match word.and_then(NodeRef::text) {
        Some("DENY") => Action::Deny,
        Some("CUSTOM") => Action::Custom,
        Some("AUDIT") => Action::Audit,
        _ => Action::Allow,
    }
}

/// Returns the place of the first policy with a rule of this match.
fn found(
    policies: &[&Object<'_>],
    wanted: Action,
    request: &Request,
    kind: Match,
) -> Option<Label> {
    let policies = policies.iter().filter(|policy| action(policy) == wanted);
    for policy in policies {
        let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
        for rule in rules.into_iter().flat_map(NodeRef::items) {
            if rule_matches(rule, wanted, request) == kind {
                let said = match kind {
                    Match::Unknown => format!(
                        "AuthorizationPolicy `{}` depends on what only the running mesh knows",
                        policy.name()
                    ),
                    _ => format!("a rule of AuthorizationPolicy `{}` matches", policy.name()),
                };
                return Some(policy.label_at(policy.name_span(), said));
            }
        }
    }
    None
}

/// On a TCP chain an ALLOW rule with an HTTP field vanishes; a DENY rule loses the field.
fn rule_matches(rule: NodeRef<'_>, action: Action, request: &Request) -> Match {
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
            .flat_map(NodeRef::entries)
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
        let fields = clause.entries().filter_map(|entry| {
            let name = entry.key.text()?;
            let skipped = !request.is_http && authz::is_http_field(name);
            (!skipped).then(|| authz::field(name, &texts(Some(entry.value)), request))
        });
        Match::all(fields)
    }))
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

fn texts<'t>(list: Option<NodeRef<'t>>) -> Vec<&'t str> {
    list.into_iter()
        .flat_map(NodeRef::items)
        .filter_map(NodeRef::text)
        .collect()
}
