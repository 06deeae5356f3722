//! Rule `vm-port`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds ports in checks of virtual machines that are missing or out of range.
    ///
    /// ## What it checks
    /// The port of the probe of a `WorkloadGroup`: missing, 0, negative or above 65535.
    ///
    /// ## Why it matters
    /// istiod refuses the object: `port number 0 must be in the range 1..65535`. `istioctl x
    /// workload entry configure` passes it on, and the check never succeeds: the machine stays
    /// unhealthy.
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
    ///     httpGet:
    ///       path: /healthz
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
    /// There is no fix by machine: nobody knows which port was meant.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-port", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::PortOutOfRange(port) = fault.kind else {
        return None;
    };
    let is = match port {
        Some(port) => format!("asks port {port}, which is out of range"),
        None => "names no port".to_owned(),
    };
    let message = format!(
        "the probe of {} {is}: istiod refuses it (`must be in the range 1..65535`)",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "write the number of the port that the application listens on",
    ))
}
