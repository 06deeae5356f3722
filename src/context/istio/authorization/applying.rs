//! The `AuthorizationPolicy`s that apply to pods. Their rules are indexed by port and path, so that a
//! request is compared only with rules that may match it.

use hashbrown::HashMap;

use crate::kube::Object;
use crate::mesh::istio::authz::{Match, Request};
use crate::yaml::NodeRef;

use crate::context::istio::authorization::rules::{Action, action, rule_matches, rules, texts};

/// The position of a policy in the inventory, and of a rule in the policy.
type RulePosition = (usize, usize);

/// The policies that apply to a set of pods.
#[derive(Debug, Default)]
pub(in crate::context) struct ApplyingPolicies {
    /// Their positions in the inventory, in order.
    policies: Vec<usize>,
    /// The first policy with the action ALLOW.
    first_allowing: Option<usize>,
    rules: HashMap<Action, RuleIndex>,
}

/// The rules of the policies with one action. Each rule is in `by_port`, in the two fields for paths,
/// or in `others`.
#[derive(Debug, Default)]
struct RuleIndex {
    /// Rules that match only these ports.
    by_port: HashMap<i64, Vec<RulePosition>>,
    /// Rules that match only these paths on an HTTP filter chain.
    by_path: HashMap<String, Vec<RulePosition>>,
    /// All rules of `by_path`: on a TCP filter chain, the path is ignored.
    with_paths: Vec<RulePosition>,
    others: Vec<RulePosition>,
}

impl ApplyingPolicies {
    /// Indexes the rules of the policies at these positions of `all`.
    pub(in crate::context) fn of(all: &[Object<'_>], policies: Vec<usize>) -> Self {
        let mut sorted = Self::default();
        for &at in &policies {
            let Some(policy) = all.get(at) else { continue };
            let action = action(policy);
            if action == Action::Allow {
                sorted.first_allowing.get_or_insert(at);
            }
            let index = sorted.rules.entry(action).or_default();
            for (number, rule) in rules(policy).enumerate() {
                index.insert(rule, (at, number));
            }
        }
        sorted.policies = policies;
        sorted
    }

    /// Returns all policies.
    pub(in crate::context) fn all<'a, 't>(
        &'a self,
        all: &'a [Object<'t>],
    ) -> impl Iterator<Item = &'a Object<'t>> {
        self.policies.iter().filter_map(|&at| all.get(at))
    }

    /// Returns the first policy with the action ALLOW.
    pub(in crate::context) fn first_allowing<'a, 't>(
        &self,
        all: &'a [Object<'t>],
    ) -> Option<&'a Object<'t>> {
        all.get(self.first_allowing?)
    }

    /// Returns the first policy with this action and a rule for which the request has this match, and
    /// the rule.
    pub(in crate::context) fn found<'a, 't>(
        &self,
        all: &'a [Object<'t>],
        wanted: Action,
        request: &Request,
        kind: Match,
    ) -> Option<(&'a Object<'t>, NodeRef<'t>)> {
        let places = self.rules.get(&wanted)?.places(request);
        places
            .chunk_by(|one, other| one.0 == other.0)
            .find_map(|places| {
                let policy = all.get(places.first()?.0)?;
                let mut numbers = places.iter().map(|(_, number)| *number).peekable();
                let candidates = rules(policy)
                    .enumerate()
                    .filter_map(|(number, rule)| numbers.next_if_eq(&number).map(|_| rule));
                let mut matching =
                    candidates.filter(|rule| rule_matches(*rule, wanted, request) == kind);
                Some((policy, matching.next()?))
            })
    }
}

impl RuleIndex {
    fn insert(&mut self, rule: NodeRef<'_>, place: RulePosition) {
        if let Some(ports) = field_values(rule, "ports") {
            let mut ports: Vec<i64> = ports.iter().filter_map(|port| port.parse().ok()).collect();
            ports.sort_unstable();
            ports.dedup();
            for port in ports {
                self.by_port.entry(port).or_default().push(place);
            }
            return;
        }
        let is_pattern = |path: &&str| path.contains(['*', '{', '}']);
        match field_values(rule, "paths").filter(|paths| !paths.iter().any(is_pattern)) {
            Some(mut paths) => {
                paths.sort_unstable();
                paths.dedup();
                for path in paths {
                    self.by_path.entry_ref(path).or_default().push(place);
                }
                self.with_paths.push(place);
            }
            None => self.others.push(place),
        }
    }

    /// Returns the rules that may match a request, in their order.
    fn places(&self, request: &Request) -> Vec<RulePosition> {
        let by_port = self.by_port.get(&request.port);
        let by_path = if request.is_http {
            self.by_path.get(request.path.as_str())
        } else {
            Some(&self.with_paths)
        };
        let named = by_port.into_iter().chain(by_path).flatten();
        let mut places: Vec<RulePosition> = self.others.iter().chain(named).copied().collect();
        places.sort_unstable();
        places
    }
}

/// Returns all values of a field of the operations of a rule; `None` if an operation does not have the
/// field, so that a request may match whatever the other values are.
fn field_values<'t>(rule: NodeRef<'t>, field: &str) -> Option<Vec<&'t str>> {
    let mut operations = rule
        .get("to")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| item.get("operation"))
        .peekable();
    operations.peek()?;
    let mut values = Vec::new();
    for operation in operations {
        let mut fields = operation
            .set_entries()
            .filter(|entry| entry.key.text() == Some(field));
        values.extend(texts(Some(fields.next()?.value)));
    }
    Some(values)
}
