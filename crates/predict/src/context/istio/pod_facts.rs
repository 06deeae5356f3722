//! The facts of Istio about the pods of a workload.

use std::cell::OnceCell;

use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::capture::CaptureRules;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::install::view::InstallView;
use crate::context::run_context::Context;

/// The facts of Istio about the pods of a workload. Those that many questions depend on are computed once. The module of each
/// subject, such as `mtls` or `ports`, implements its methods.
#[derive(Clone, Debug)]
pub struct PodFacts<'c, 't> {
    /// The facts of the run, or of an alternative.
    pub context: &'c Context<'t>,
    /// The workload.
    pub workload: &'c Workload<'t>,
    pub(super) installation: OnceCell<InstallView<'c>>,
    pub(super) capture: OnceCell<CaptureFacts>,
    /// The `PeerAuthentication`s of the whole mesh, of the namespace, and those that select the pods.
    pub(super) policies: OnceCell<[NearestPolicies<'c, 't>; 3]>,
    pub(super) environments_with_policies: OnceCell<Vec<&'c str>>,
}

impl<'t> Context<'t> {
    /// Returns the facts of Istio about the pods of a workload.
    #[must_use]
    pub const fn pod_facts<'c>(&'c self, workload: &'c Workload<'t>) -> PodFacts<'c, 't> {
        PodFacts {
            context: self,
            workload,
            installation: OnceCell::new(),
            capture: OnceCell::new(),
            policies: OnceCell::new(),
            environments_with_policies: OnceCell::new(),
        }
    }
}

/// The rules that decide which ports of a pod are captured, and where they are written.
#[derive(Clone, Debug)]
pub(super) struct CaptureFacts {
    pub(super) rules: CaptureRules,
    pub(super) mode: Option<Fact<()>>,
    pub(super) include: Option<Fact<()>>,
    pub(super) exclude: Option<Fact<()>>,
}

/// How many policies of one scope are compared with each other. A rule reports conflicting policies,
/// so more are not needed.
const RIVALS: usize = 4;

/// The nearest `PeerAuthentication`s of one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct NearestPolicies<'c, 't> {
    /// The policies that are compared with each other, sorted by name, which decides between policies of equal age.
    pub(super) first: Vec<&'c Object<'t>>,
    /// The policies with a mode that another tool fills in, up to the first whose mode for all ports is one.
    pub(super) undecided: Vec<&'c Object<'t>>,
}

impl<'c, 't> NearestPolicies<'c, 't> {
    pub(super) fn of(mut policies: Vec<&'c Object<'t>>) -> Self {
        policies.sort_by_key(|policy| policy.name());
        let mut undecided = Vec::new();
        for &policy in &policies {
            let view = PeerAuthentication::of(policy);
            let mut ports = view.ports();
            let is_open = |mode: NodeRef<'_>| mode.text().is_some_and(placeholder::contains);
            let own = view.mode().is_some_and(|mode| is_open(mode.value));
            if own || ports.any(|port| port.mode.is_some_and(|mode| is_open(mode.value))) {
                undecided.push(policy);
            }
            // This policy leaves the mode of every port open, so no other is needed.
            if own {
                break;
            }
        }
        policies.truncate(RIVALS);
        Self {
            first: policies,
            undecided,
        }
    }
}
