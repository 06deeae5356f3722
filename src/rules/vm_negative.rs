//! Rule `vm-negative`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds negative seconds and thresholds in checks of virtual machines.
    ///
    /// ## What it checks
    /// The numbers of the probe of a `WorkloadGroup`: delay, timeout, period and thresholds below
    /// 0.
    ///
    /// ## Why it matters
    /// istiod refuses the object. `istioctl x workload entry configure` passes the number on, and
    /// an agent with a negative period panics.
    ///
    /// ## Example
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
    ///     periodSeconds: -1
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
    ///     periodSeconds: 10
    ///     httpGet:
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: nobody knows which number was meant.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-negative", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::Negative = fault.kind else {
        return None;
    };
    let message = format!(
        "`{}` of {} is negative: istiod refuses it",
        workload_group::field(fault),
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "write 0 or more; 0 stands for the default",
    ))
}
