//! Rule `vm-template-missing`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds groups of virtual machines without a template.
    ///
    /// ## What it checks
    /// A `WorkloadGroup` without `spec.template`.
    ///
    /// ## Why it matters
    /// istiod and the API server refuse the object: `template is required`. Its probe never reaches
    /// a machine.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   template:
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       path: /healthz
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the service account is yours to choose.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-template-missing", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::NoTemplate = fault.kind else {
        return None;
    };
    let message = format!(
        "{} has no template: istiod refuses it (`template is required`)",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "add `spec.template` with the service account and the ports of the machines",
    ))
}
