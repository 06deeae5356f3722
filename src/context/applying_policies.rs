//! The `AuthorizationPolicy`s that apply to pods, with their rules by the port or path that they name: of many rules, a
//! request meets only those that may match it.

use hashbrown::HashMap;

use crate::kube::Object;
use crate::mesh::istio::authz::{Match, Request};
use crate::yaml::NodeRef;

use super::audience::rules;
use super::authorization::{Action, action, rule_matches, texts};

/// The positions of a policy among all, and of a rule in it.
type Place = (usize, usize);

/// The policies that apply to some pods.
#[derive(Debug, Default)]
pub(super) struct ApplyingPolicies {
    /// Their positions among all policies, in order.
    policies: Vec<usize>,
    /// The first that allows something.
    first_allowing: Option<usize>,
    rules: HashMap<Action, RuleIndex>,
}

/// The rules of the policies with one action, each in one of the parts.
#[derive(Debug, Default)]
struct RuleIndex {
    /// Rules that match no other ports.
    by_port: HashMap<i64, Vec<Place>>,
    /// Rules that match no other paths, where the filter chain is one of HTTP.
    by_path: HashMap<String, Vec<Place>>,
    with_paths: Vec<Place>,
    others: Vec<Place>,
}

impl ApplyingPolicies {
    /// Sorts the rules of the policies, which are positions among `all`.
    pub(super) fn of(all: &[Object<'_>], policies: Vec<usize>) -> Self {
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
    pub(super) fn all<'a, 't>(
        &'a self,
        all: &'a [Object<'t>],
    ) -> impl Iterator<Item = &'a Object<'t>> {
        self.policies.iter().filter_map(|&at| all.get(at))
    }

    /// Returns the first policy that allows something.
    pub(super) fn first_allowing<'a, 't>(&self, all: &'a [Object<'t>]) -> Option<&'a Object<'t>> {
        all.get(self.first_allowing?)
    }

    /// Returns the first policy with a rule of this match, and the rule.
    pub(super) fn found<'a, 't>(
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
    fn insert(&mut self, rule: NodeRef<'_>, place: Place) {
        if let Some(ports) = named(rule, "ports") {
            let mut ports: Vec<i64> = ports.iter().filter_map(|port| port.parse().ok()).collect();
            ports.sort_unstable();
            ports.dedup();
            for port in ports {
                self.by_port.entry(port).or_default().push(place);
            }
            return;
        }
        let is_pattern = |path: &&str| path.contains(['*', '{', '}']);
        match named(rule, "paths").filter(|paths| !paths.iter().any(is_pattern)) {
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
    fn places(&self, request: &Request) -> Vec<Place> {
        let by_port = self.by_port.get(&request.port);
        let by_path = if request.is_http {
            self.by_path.get(request.path.as_str())
        } else {
            Some(&self.with_paths)
        };
        let named = by_port.into_iter().chain(by_path).flatten();
        let mut places: Vec<Place> = self.others.iter().chain(named).copied().collect();
        places.sort_unstable();
        places
    }
}

/// Returns all values of a field of the operations of a rule; `None` where a request may match whatever they are: an
/// operation has no such field.
fn named<'t>(rule: NodeRef<'t>, field: &str) -> Option<Vec<&'t str>> {
    let operations = rule.get("to").into_iter().flat_map(NodeRef::items);
    let mut operations = operations
        .filter_map(|item| item.get("operation"))
        .peekable();
    operations.peek()?;
    let mut values = Vec::new();
    for operation in operations {
        let entries = operation.effective_entries().into_iter();
        let mut fields = entries.filter(|entry| entry.key.text() == Some(field));
        values.extend(texts(Some(fields.next()?.value)));
    }
    Some(values)
}
