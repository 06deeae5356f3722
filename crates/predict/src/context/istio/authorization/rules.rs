//! Compares the rules of an `AuthorizationPolicy` with a request.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::authz;
use meshprobe_mesh::mesh::istio::authz::{Match, Request};
use meshprobe_yaml::{NodeRef, Span};

/// Iterates over the rules of a policy.
pub(in crate::context) fn rules<'t>(
    policy: &Object<'t>,
) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
    rules.into_iter().flat_map(NodeRef::items)
}

/// The action of a policy for the requests that its rules match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::context) enum Action {
    Allow,
    Deny,
    Custom,
    Audit,
}

pub(in crate::context) fn action(policy: &Object<'_>) -> Action {
    let word = policy.node.get("spec").and_then(|spec| spec.get("action"));
    match word.and_then(NodeRef::text) {
        Some("DENY") => Action::Deny,
        Some("CUSTOM") => Action::Custom,
        Some("AUDIT") => Action::Audit,
        _ => Action::Allow,
    }
}

/// Compares a rule with a request. On a TCP filter chain, Istio drops an ALLOW rule with an HTTP
/// field, and drops the field of a DENY rule.
pub(in crate::context) fn rule_matches(
    rule: NodeRef<'_>,
    action: Action,
    request: &Request,
) -> Match {
    if !request.is_http && action == Action::Allow && needs_http(rule) {
        return Match::No;
    }
    Match::all([
        match_clauses(rule.get("from"), "source", request),
        match_clauses(rule.get("to"), "operation", request),
        match_conditions(rule.get("when"), request),
    ])
}

pub(in crate::context) fn needs_http(rule: NodeRef<'_>) -> bool {
    http_field(rule).is_some()
}

/// Returns the first condition of a rule that needs an HTTP chain.
pub(in crate::context) fn http_field(rule: NodeRef<'_>) -> Option<Span> {
    let clause = |list: &str, key: &str| {
        rule.get(list)
            .into_iter()
            .flat_map(NodeRef::items)
            .filter_map(|item| item.get(key))
            .flat_map(NodeRef::set_entries)
            .find(|entry| entry.key.text().is_some_and(authz::is_http_field))
            .map(|entry| entry.key.span())
    };
    let mut when = rule.get("when").into_iter().flat_map(NodeRef::items);
    let condition = || {
        when.find_map(|item| {
            let key = item.get("key")?;
            key.text()
                .is_some_and(authz::is_http_condition)
                .then(|| key.span())
        })
    };
    clause("from", "source")
        .or_else(|| clause("to", "operation"))
        .or_else(condition)
}

/// Compares a request with a list of alternatives. All fields of an alternative must match. An absent
/// list matches all requests.
pub(in crate::context) fn match_clauses(
    list: Option<NodeRef<'_>>,
    key: &str,
    request: &Request,
) -> Match {
    // An empty list means the same as an absent one.
    let Some(list) = list.filter(|list| list.items().len() > 0) else {
        return Match::Yes;
    };
    let alternatives = list.items().filter_map(|item| item.get_set(key));
    Match::any(alternatives.map(|clause| {
        let fields = clause.set_entries().filter_map(|entry| {
            let name = entry.key.text()?;
            let skipped = !request.is_http && authz::is_http_field(name);
            (!skipped).then(|| authz::field(name, &texts(Some(entry.value)), request))
        });
        Match::all(fields)
    }))
}

pub(in crate::context) fn match_conditions(list: Option<NodeRef<'_>>, request: &Request) -> Match {
    let items = list.into_iter().flat_map(NodeRef::items);
    Match::all(items.filter_map(|item| {
        let key = item.get("key")?.text()?;
        let skipped = !request.is_http && authz::is_http_condition(key);
        let values = texts(item.get("values"));
        let not_values = texts(item.get("notValues"));
        (!skipped).then(|| authz::condition(key, &values, &not_values, request))
    }))
}

pub(in crate::context) fn texts<'t>(list: Option<NodeRef<'t>>) -> Vec<&'t str> {
    list.into_iter()
        .flat_map(NodeRef::items)
        .filter_map(NodeRef::text)
        .collect()
}
