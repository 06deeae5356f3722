//! The input of a rule: the predictions, and the facts that they depend on.

use std::ptr::from_ref;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::settings::MeshKind;
use meshprobe_predict::context::{Context, NamespaceIndex, PolicyScope};
use meshprobe_predict::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::FieldPath;

/// The input of a rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleContext<'s, 't> {
    /// The facts.
    pub context: &'s Context<'t>,
    /// The predictions, including those of context files.
    pub predictions: &'s [WorkloadPrediction<'t>],
    /// The predictions by namespace, for rules about policies.
    pub by_namespace: &'s ByNamespace<'s, 't>,
    /// The effect of turning the rewrite on for each pod, predicted once per pod.
    pub(super) rewrite_effects: &'s RewriteEffects,
}

/// Predictions by the namespace of their workload.
pub type ByNamespace<'s, 't> = HashMap<&'s str, Vec<&'s WorkloadPrediction<'t>>>;

/// Groups predictions by namespace.
pub(super) fn by_namespace<'s, 't>(
    context: &'s Context<'t>,
    predictions: &'s [WorkloadPrediction<'t>],
) -> ByNamespace<'s, 't> {
    let mut groups = ByNamespace::new();
    for prediction in predictions {
        let namespace = context.namespace_of(&prediction.workload.object).name;
        groups.entry(namespace).or_default().push(prediction);
    }
    groups
}

impl<'s, 't> RuleContext<'s, 't> {
    /// Iterates over the workloads. The engine selects the findings that are reported.
    pub fn pods(&self) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> + use<'s, 't> {
        self.predictions.iter()
    }

    /// Iterates over the workloads whose pods the injector of Istio processes: it validates only these.
    pub fn injected_pods(&self) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> + use<'s, 't> {
        self.pods().filter(|pod| pod.passes_injector)
    }

    /// Returns whether there may be a mesh: false if an option excludes it.
    #[must_use]
    pub fn may_have_mesh(&self) -> bool {
        self.context.settings.mesh != MeshKind::None
    }

    /// Returns whether findings about an object are reported: the user gave its file, or a file that deploys it.
    #[must_use]
    pub fn is_target(&self, object: &Object<'_>) -> bool {
        self.context.origin_of(object).is_target()
    }

    /// Iterates over the Namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &'s Object<'t>> + use<'_, 's, 't> {
        self.context.inventory.namespaces.iter()
    }

    /// Returns the workloads that a `PeerAuthentication` with this scope applies to, including those of
    /// context files.
    #[must_use]
    pub fn workloads_of_policy(
        &self,
        policy: &Object<'t>,
        policy_scope: PolicyScope,
    ) -> Vec<&'s WorkloadPrediction<'t>> {
        let policy_applies = |pod: &WorkloadPrediction<'t>| {
            self.context
                .istio_policy(policy)
                .applies_to(policy_scope, &pod.workload)
        };
        match policy_scope {
            PolicyScope::Mesh => self
                .predictions
                .iter()
                .filter(|pod| policy_applies(pod))
                .collect(),
            PolicyScope::Namespace | PolicyScope::Workloads => self
                .in_namespace_of(policy)
                .filter(|pod| policy_applies(pod))
                .collect(),
            PolicyScope::None => Vec::new(),
        }
    }

    /// Returns the workloads in the scope of an `AuthorizationPolicy`, an `EnvoyFilter` or a `Sidecar`,
    /// regardless of its selector: those of its namespace, or all if it is in the root namespace.
    #[must_use]
    pub fn workloads_in_scope(&self, policy: &Object<'t>) -> Vec<&'s WorkloadPrediction<'t>> {
        let policy_scope = if self.context.istio_policy(policy).is_in_root_namespace() {
            PolicyScope::Mesh
        } else {
            PolicyScope::Namespace
        };
        self.workloads_of_policy(policy, policy_scope)
    }

    /// Returns those of `facts` that are in a namespace of the workloads, in their order.
    #[must_use]
    pub fn in_workload_namespaces<'f>(
        &self,
        facts: &'f NamespaceIndex<'t, Object<'t>>,
    ) -> Vec<&'f Object<'t>> {
        let mut namespaces = self.by_namespace.keys();
        match (namespaces.next(), namespaces.next()) {
            (Some(namespace), None) => facts.in_namespace(namespace).collect(),
            _ => facts
                .iter()
                .filter(|fact| self.in_namespace_of(fact).next().is_some())
                .collect(),
        }
    }

    /// Iterates over the workloads in the namespace of an object.
    pub fn in_namespace_of(
        &self,
        object: &Object<'t>,
    ) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> + use<'s, 't> {
        let namespace = self.context.namespace_of(object).name;
        self.by_namespace
            .get(namespace)
            .into_iter()
            .flatten()
            .copied()
    }

    /// Returns the workloads that a port of a Service targets, each with the target port.
    #[must_use]
    pub fn pods_of_service_port(
        &self,
        service: &Object<'t>,
        port: i64,
    ) -> Vec<(&'s WorkloadPrediction<'t>, i64)> {
        let mut found = Vec::new();
        for pod in self.in_namespace_of(service) {
            for (other, service_port, target) in self.context.services(&pod.workload).ports() {
                let is_same = other.node == service.node && service_port.port == Some(port);
                found.extend(target.filter(|_| is_same).map(|target| (pod, target)));
            }
        }
        found
    }

    /// Iterates over the handlers, with their workloads.
    pub fn handlers(
        &self,
    ) -> impl Iterator<Item = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>)> + use<'s, 't>
    {
        self.pods()
            .flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)))
    }

    /// Returns a finding for each handler about which `report` returns one.
    pub(super) fn each_handler(
        &self,
        report: impl Fn(&WorkloadPrediction<'t>, &HandlerPrediction<'t>) -> Option<Finding>,
    ) -> Vec<Finding> {
        self.handlers()
            .filter_map(|(pod, handler)| report(pod, handler))
            .collect()
    }

    /// Returns a finding for each handler whose verdict has a cause.
    pub(super) fn each_with(
        &self,
        cause: Cause,
        report: impl Fn(&WorkloadPrediction<'t>, &HandlerPrediction<'t>) -> Finding,
    ) -> Vec<Finding> {
        let is_affected = |handler: &HandlerPrediction<'_>| handler.verdict.cause == cause;
        self.each_handler(|pod, handler| is_affected(handler).then(|| report(pod, handler)))
    }

    /// Iterates over the workloads if there may be a mesh.
    pub(super) fn mesh_pods(&self) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> {
        self.pods().filter(|_| self.may_have_mesh())
    }

    /// Iterates over the Namespaces if there may be a mesh.
    pub(super) fn mesh_namespaces(&self) -> impl Iterator<Item = &'s Object<'t>> {
        self.namespaces().filter(|_| self.may_have_mesh())
    }

    /// Returns the index in its file of the document that contains `place`; 0 if none does.
    #[must_use]
    pub fn document_of(&self, place: &Label) -> usize {
        let file = self.context.sources.file(&place.path);
        let mut documents = file.into_iter().flat_map(|file| &file.documents);
        documents
            .find(|document| document.segment.contains(place.span))
            .map_or(0, |document| document.index)
    }

    /// Returns whether the rewrite is on by default, and the tree or an option confirms it, so that no annotation
    /// is needed.
    pub(super) fn rewrites_by_default(&self, pod: &WorkloadPrediction<'t>) -> bool {
        let default = self.context.pod_facts(&pod.workload).rewrite_default();
        let release_known =
            pod.release.certainty == Certainty::Known && pod.release.value.is_some();
        default.value && (default.certainty == Certainty::Known || release_known)
    }
}

/// The effect of turning the rewrite on for one pod.
#[derive(Debug)]
pub(super) struct RewriteEffect {
    /// The applicability of the fix.
    pub(super) applicability: Applicability,
    /// The hooks that then work as without a mesh.
    restored_hooks: HashSet<FieldPath>,
}

impl RewriteEffect {
    /// Collects the hooks that work in `after`, the prediction with the rewrite on.
    pub(super) fn new(after: &WorkloadPrediction<'_>, applicability: Applicability) -> Self {
        let hooks = after
            .handlers
            .iter()
            .filter(|hook| hook.handler.slot.is_lifecycle() && hook.verdict.outcome == Outcome::Ok);
        Self {
            applicability,
            restored_hooks: hooks.map(|hook| hook.handler.route.clone()).collect(),
        }
    }

    /// Returns whether the hook at this route then works as without a mesh.
    pub(super) fn restores_hook(&self, route: &FieldPath) -> bool {
        self.restored_hooks.contains(route)
    }
}

/// The effects for the pods of one [`RuleContext`](crate::rules::RuleContext): one prediction per pod,
/// regardless of the number of findings.
#[derive(Debug, Default)]
pub(super) struct RewriteEffects(Mutex<HashMap<usize, Arc<RewriteEffect>>>);

impl RewriteEffects {
    /// Returns the effect for a pod; the first call computes it with `compute`.
    pub(super) fn of(
        &self,
        pod: &WorkloadPrediction<'_>,
        compute: impl FnOnce() -> RewriteEffect,
    ) -> Arc<RewriteEffect> {
        // The predictions of a rule context do not move during its lifetime, so the address identifies the pod.
        let key = from_ref(pod).cast::<u8>().addr();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(effect) = known.get(&key) {
            return Arc::clone(effect);
        }
        drop(known);
        let effect = Arc::new(compute());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert(effect))
    }
}
