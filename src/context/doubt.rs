//! What leaves open whether an `AuthorizationPolicy` refuses a probe.

use crate::kube::{Object, Workload};
use crate::mesh::istio::authz::{self, Match, Request};
use crate::yaml::NodeRef;

use super::Context;
use super::audience::Open;
use super::authorization::{Action, texts};

/// A policy that decides about a request by what no manifest tells.
#[derive(Clone, Debug)]
pub struct Doubt<'t> {
    /// The policy.
    pub policy: Object<'t>,
    /// The rule that may match.
    pub rule: NodeRef<'t>,
    /// A match refuses the request; otherwise it is what lets it pass, or asks somebody else.
    pub denies: bool,
    /// What it depends on: "the source address of the kubelet".
    pub on: String,
}

impl<'t> Context<'t> {
    /// Says which policy makes [`Context::authorization`] of a request unknown, and what that depends
    /// on; `None` where none does.
    #[must_use]
    pub fn doubt(&self, workload: &Workload<'t>, request: &Request) -> Option<Doubt<'t>> {
        let key = (self.audience(workload), request.clone());
        let work_out = || self.first_doubt(workload, request);
        let open = self.authorizations.doubts.of(key, work_out)?;
        let (policy, rule) = self.rule_at(open.place)?;
        Some(Doubt {
            policy: policy.clone(),
            rule: rule?,
            denies: open.denies,
            on: open.on,
        })
    }

    fn first_doubt(&self, workload: &Workload<'t>, request: &Request) -> Option<Open> {
        let all = &self.inventory.authorization_policies;
        let applying = self.applying_policies(workload);
        let of = |action, kind| applying.found(all, action, request, kind);
        let custom =
            || of(Action::Custom, Match::Yes).or_else(|| of(Action::Custom, Match::Unknown));
        if let Some((policy, rule)) = custom() {
            return Some(Open {
                place: self.rule_place(policy, Some(rule))?,
                denies: false,
                on: "the answer of an external authorizer".to_owned(),
            });
        }
        let [deny, allow] = [Action::Deny, Action::Allow].map(|one| of(one, Match::Unknown));
        let denies = deny.is_some();
        let (policy, rule) = deny.or(allow)?;
        Some(Open {
            place: self.rule_place(policy, Some(rule))?,
            denies,
            on: open_part(rule, request)
                .map_or_else(|| "what only the running mesh knows".to_owned(), in_words),
        })
    }
}

/// The first field or condition of a rule that cannot be evaluated.
fn open_part<'t>(rule: NodeRef<'t>, request: &Request) -> Option<&'t str> {
    let clauses = [("from", "source"), ("to", "operation")];
    let fields = clauses.into_iter().flat_map(|(list, key)| {
        let items = rule.get(list).into_iter().flat_map(NodeRef::items);
        let clauses = items.filter_map(move |item| item.get(key));
        clauses.flat_map(NodeRef::effective_entries)
    });
    let mut fields = fields.filter_map(|entry| Some((entry.key.text()?, entry.value)));
    let open = fields.find(|(name, values)| {
        let is_seen = request.is_http || !authz::is_http_field(name);
        is_seen && authz::field(name, &texts(Some(*values)), request) == Match::Unknown
    });
    if let Some((name, _)) = open {
        return Some(name);
    }
    let mut conditions = rule.get("when").into_iter().flat_map(NodeRef::items);
    conditions.find_map(|item| {
        let key = item.get("key")?.text()?;
        if !request.is_http && authz::is_http_condition(key) {
            return None;
        }
        let (values, not_values) = (texts(item.get("values")), texts(item.get("notValues")));
        let said = authz::condition(key, &values, &not_values, request);
        (said == Match::Unknown).then_some(key)
    })
}

fn in_words(part: &str) -> String {
    match part {
        "ipBlocks" | "notIpBlocks" | "remoteIpBlocks" | "notRemoteIpBlocks" | "source.ip"
        | "remote.ip" => "the source address of the kubelet".to_owned(),
        "hosts" | "notHosts" => "the address of the pod".to_owned(),
        _ => format!("`{part}`, which only the running mesh knows"),
    }
}
