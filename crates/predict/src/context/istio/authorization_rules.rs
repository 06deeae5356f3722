//! Compares the rules of an `AuthorizationPolicy` with a request.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::authz;
use meshprobe_mesh::mesh::istio::authz::{Match, Request};
use meshprobe_yaml::{NodeRef, Span};

use crate::context::istio::pod_facts::PodFacts;

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

/// A policy that decides about a request by a value that manifests do not contain.
#[derive(Clone, Debug)]
pub struct UndecidablePolicy<'t> {
    /// The policy.
    pub policy: Object<'t>,
    /// The rule that may match.
    pub rule: NodeRef<'t>,
    /// Whether a match denies the request. Otherwise a match allows it, or an external authorizer
    /// decides.
    pub denies: bool,
    /// The value that it depends on: "the source address of the kubelet".
    pub on: String,
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the policy that makes [`PodFacts::authorization`] of a request unknown, and the value that
    /// it depends on; `None` if every policy can be decided.
    #[must_use]
    pub fn undecidable_policy(&self, request: &Request) -> Option<UndecidablePolicy<'t>> {
        let applying = self.applying_policies();
        let of = |action, kind| applying.found(action, request, kind);
        let custom =
            || of(Action::Custom, Match::Yes).or_else(|| of(Action::Custom, Match::Unknown));
        if let Some((policy, rule)) = custom() {
            return Some(UndecidablePolicy {
                policy: policy.clone(),
                rule,
                denies: false,
                on: "the answer of an external authorizer".to_owned(),
            });
        }
        let [deny, allow] = [Action::Deny, Action::Allow].map(|action| of(action, Match::Unknown));
        let denies = deny.is_some();
        let (policy, rule) = deny.or(allow)?;
        Some(UndecidablePolicy {
            policy: policy.clone(),
            rule,
            denies,
            on: open_part(rule, request).map_or_else(
                || "a value that only the running mesh knows".to_owned(),
                describe_part,
            ),
        })
    }
}

/// Returns the first field or condition of a rule that cannot be evaluated.
fn open_part<'t>(rule: NodeRef<'t>, request: &Request) -> Option<&'t str> {
    let clauses = [("from", "source"), ("to", "operation")];
    let open = clauses
        .into_iter()
        .flat_map(|(list, key)| {
            rule.get(list)
                .into_iter()
                .flat_map(NodeRef::items)
                .filter_map(move |item| item.get(key))
                .flat_map(NodeRef::set_entries)
        })
        .filter_map(|entry| Some((entry.key.text()?, entry.value)))
        .find(|(name, values)| {
            let is_seen = request.is_http || !authz::is_http_field(name);
            is_seen && authz::field(name, &texts(Some(*values)), request) == Match::Unknown
        });
    if let Some((name, _)) = open {
        return Some(name);
    }
    rule.get("when")
        .into_iter()
        .flat_map(NodeRef::items)
        .find_map(|item| {
            let key = item.get("key")?.text()?;
            if !request.is_http && authz::is_http_condition(key) {
                return None;
            }
            let (values, not_values) = (texts(item.get("values")), texts(item.get("notValues")));
            let matched = authz::condition(key, &values, &not_values, request);
            (matched == Match::Unknown).then_some(key)
        })
}

fn describe_part(part: &str) -> String {
    match part {
        "ipBlocks" | "notIpBlocks" | "remoteIpBlocks" | "notRemoteIpBlocks" | "source.ip"
        | "remote.ip" => "the source address of the kubelet".to_owned(),
        "hosts" | "notHosts" => "the address of the pod".to_owned(),
        _ => format!("`{part}`, which only the running mesh knows"),
    }
}
