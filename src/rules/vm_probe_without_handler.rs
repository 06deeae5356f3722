//! Rule `vm-probe-without-handler`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds probes of virtual machines that check nothing.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` with none of `httpGet`, `tcpSocket` and `exec`.
    ///
    /// ## Why it matters
    /// istiod refuses the object: `unknown health check method <nil>`. The schema of the definition
    /// lets it pass, `istioctl x workload entry configure` too, and the agent on the machine
    /// panics.
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
    ///     periodSeconds: 5
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
    ///     periodSeconds: 5
    ///     httpGet:
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know what is to be checked.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-probe-without-handler", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::NoMethod = fault.kind else {
        return None;
    };
    let message = format!(
        "the probe of {} checks nothing: istiod refuses it (`unknown health check method <nil>`), \
         and an agent that gets it from istioctl panics",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "add httpGet, tcpSocket or exec",
    ))
}
