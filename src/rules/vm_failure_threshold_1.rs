//! Rule `vm-failure-threshold-1`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::{Change, Route, Scalar, Value};

declare_rule! {
    /// Finds checks of virtual machines that one failure is enough for.
    ///
    /// ## What it checks
    /// A `WorkloadGroup` whose probe says no `failureThreshold`.
    ///
    /// ## Why it matters
    /// The agent then calls the machine unhealthy after one failed check; the kubelet waits for
    /// three. A probe that was copied from a pod takes machines out of service for a single slow
    /// answer.
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
    ///     httpGet:
    ///       path: /healthz
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
    /// Unsafe: the machine stays in service two checks longer.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio documentation: "Virtual Machine Installation"
    "vm-failure-threshold-1", Note, fix: Always, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    workload_group::groups(scene).filter_map(report).collect()
}

fn report(group: &Object<'_>) -> Option<Finding> {
    let probe = workload_group::probe(group)?;
    vm::kept(probe.value)?;
    let written = probe.value.get("failureThreshold");
    let zero = Some(Scalar::Int(0));
    if written.is_some_and(|number| !number.is_null() && number.scalar() != zero) {
        return None;
    }
    let message = format!(
        "one failed check takes machines of {} out of service: without failureThreshold the agent \
         waits for {}, the kubelet for 3",
        workload_group::title(group),
        vm::DEFAULT_FAILURE_THRESHOLD,
    );
    let mut finding = scene::about_object(&RULE, group, probe.key.span(), message);
    finding.field = Some("spec.probe.failureThreshold".to_owned());
    finding.help = Some("write the number of failures that you can bear".to_owned());
    let change = Change::Set {
        route: group
            .route
            .join(&Route::keys(&["spec", "probe", "failureThreshold"])),
        value: Value::Int(3),
    };
    let title = "wait for three failures, as the kubelet does";
    let changes = vec![change];
    finding.fix = Some(scene::fix(group, title, Applicability::Unsafe, changes));
    Some(finding)
}
