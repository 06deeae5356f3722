//! Rule `vm-exec-empty`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds exec checks of virtual machines that run no command.
    ///
    /// ## What it checks
    /// A `WorkloadGroup` whose probe is `exec` with no `command`, or with an empty one.
    ///
    /// ## Why it matters
    /// istiod refuses the object: `exec.command is required`. `istioctl x workload entry configure`
    /// does not check it, and the agent on the machine panics on such a probe.
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
    ///     exec: {}
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
    ///     exec:
    ///       command: [pg_isready, -q]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know what is to be run.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-exec-empty", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::NoCommand = fault.kind else {
        return None;
    };
    let message = format!(
        "the probe of {} runs no command: istiod refuses it (`exec.command is required`), and an \
         agent that gets it from istioctl panics",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "write the command, or use httpGet or tcpSocket",
    ))
}
