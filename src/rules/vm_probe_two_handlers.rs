//! Rule `vm-probe-two-handlers`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::Change;

declare_rule! {
    /// Finds probes of virtual machines with several handlers.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` that holds more than one of `httpGet`, `tcpSocket`, `exec`
    /// and `grpc`.
    ///
    /// ## Why it matters
    /// The schema of recent releases refuses the object. `istioctl` says nothing and keeps one: the
    /// last in the order httpGet, tcpSocket, exec, grpc. The others are never checked.
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
    ///       port: 8080
    ///     tcpSocket:
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
    /// Unsafe: what istioctl drops is deleted, and that may be the better check. Nothing is deleted
    /// where `grpc` would be left, which istiod refuses.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio reference: "istioctl"
    "vm-probe-two-handlers", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::SeveralMethods { kept, dropped } = &fault.kind else {
        return None;
    };
    let names: Vec<String> = dropped
        .iter()
        .map(|method| format!("`{}`", method.key()))
        .collect();
    let (names, kept_name) = (names.join(" and "), kept.key());
    let message = format!(
        "the probe of {} has several handlers: the schema of recent releases refuses it, and istioctl keeps \
         `{kept_name}` and drops {names}",
        workload_group::title(group),
    );
    let help = "keep one of them";
    let mut finding = workload_group::report(&RULE, group, fault, message, help);
    finding.fix = (*kept != vm::Method::Grpc).then(|| {
        let route = group.route.join(&fault.within);
        let changes = dropped.iter().map(|method| Change::Remove {
            route: route.child(method.key()),
        });
        let title = format!("delete {names}, which istioctl drops");
        scene::fix(group, title, Applicability::Unsafe, changes.collect())
    });
    Some(finding)
}
