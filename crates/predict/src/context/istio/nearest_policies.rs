//! Finds the `PeerAuthentication`s of a scope that are nearest to a file, once for all pods that the
//! same policies select.

use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use crate::context::namespace_index::SelectorLabel;

/// How many policies of one scope are compared with each other. A rule reports conflicting policies,
/// so more are not needed.
const RIVALS: usize = 4;

/// The scope of policies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::context) enum ScopeKey {
    /// The whole mesh: no selector, in the root namespace.
    Mesh,
    /// A namespace: no selector.
    Namespace,
    /// Pods with labels that a selector names.
    Pods(Vec<SelectorLabel>),
}

/// The nearest policies of one scope, by position in the inventory. They are sorted by name, which
/// decides between policies of equal age. Only as many as needed are kept, since there may be as many
/// policies as pods.
#[derive(Clone, Debug, Default)]
pub(in crate::context) struct NearestPolicies {
    pub(in crate::context) first: Vec<usize>,
    pub(in crate::context) undecided: Vec<usize>,
}

impl NearestPolicies {
    pub(in crate::context) fn of<'t>(all: &[Object<'t>], mut policies: Vec<&Object<'t>>) -> Self {
        policies.sort_by_key(|policy| policy.name());
        let position = |policy: &&Object<'t>| all.element_offset(policy);
        let mut undecided = Vec::new();
        for policy in &policies {
            let view = PeerAuthentication::of(policy);
            let mut ports = view.ports();
            let is_open = |mode: NodeRef<'_>| mode.text().is_some_and(placeholder::contains);
            let own = view.mode().is_some_and(|mode| is_open(mode.value));
            if own || ports.any(|port| port.mode.is_some_and(|mode| is_open(mode.value))) {
                undecided.extend(position(policy));
            }
            // This policy leaves the mode of every port open, so no other is needed.
            if own {
                break;
            }
        }
        Self {
            first: policies.iter().take(RIVALS).filter_map(position).collect(),
            undecided,
        }
    }

    /// Iterates over the first policies, which are compared with each other.
    pub(in crate::context) fn first<'s, 't>(
        &'s self,
        all: &'s [Object<'t>],
    ) -> impl Iterator<Item = &'s Object<'t>> {
        self.first.iter().filter_map(|&at| all.get(at))
    }

    /// Iterates over policies with a mode that another tool fills in, up to the first whose mode for all
    /// ports is one.
    pub(in crate::context) fn undecided<'s, 't>(
        &'s self,
        all: &'s [Object<'t>],
    ) -> impl Iterator<Item = &'s Object<'t>> {
        self.undecided.iter().filter_map(|&at| all.get(at))
    }
}
