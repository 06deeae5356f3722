//! Finds what leaves open whether an `AuthorizationPolicy` denies a probe.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::authz::{self, Match, Request};
use meshprobe_yaml::NodeRef;

use crate::context::istio::authorization::rules::{Action, texts};
use crate::context::istio::facets::AuthorizationFacts;

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

impl<'c, 't> AuthorizationFacts<'c, 't> {
    /// Returns the policy that makes [`AuthorizationFacts::decide`] of a request unknown, and the value that
    /// it depends on; `None` if there is no such policy.
    #[must_use]
    pub fn undecidable(self, request: &Request) -> Option<UndecidablePolicy<'t>> {
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
