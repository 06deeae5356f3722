//! Rule `vm-grpc-probe`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds gRPC checks of virtual machines, which istiod refuses.
    ///
    /// ## What it checks
    /// A `WorkloadGroup` whose probe is `grpc`, also where it is the one that is kept of several.
    ///
    /// ## Why it matters
    /// The definition has the field and agents since 1.25 know it, but no istiod accepts it:
    /// `unknown health check method`. `istioctl analyze` is silent and `istioctl x workload entry
    /// configure` writes it into `mesh.yaml`; the agent then dies of the first answer NOT_SERVING.
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
    ///     grpc:
    ///       port: 9090
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
    ///       command: [grpc_health_probe, -addr=127.0.0.1:9090]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the exec check needs a program on the machine.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio documentation: "Virtual Machine Installation"
    "vm-grpc-probe", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::Grpc = fault.kind else {
        return None;
    };
    let message = format!(
        "the probe of {} is a gRPC one: istiod refuses it (`unknown health check method`), and an \
         agent that gets it from istioctl dies of the first NOT_SERVING",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "run grpc_health_probe by exec, or check httpGet or tcpSocket",
    ))
}
