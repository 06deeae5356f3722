//! Rule `vm-port-name`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds ports in checks of virtual machines that are no numbers.
    ///
    /// ## What it checks
    /// The port of the probe of a `WorkloadGroup` that is a name, or a number in quotes.
    ///
    /// ## Why it matters
    /// Pods have names for ports, the probes of machines have not: `istioctl validate`, `configure`
    /// and the API server all stop at a name. A number in quotes passes istioctl, but the API
    /// server takes numbers only.
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
    ///     ports:
    ///       http: 8080
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       port: http
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
    ///     ports:
    ///       http: 8080
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Safe for a number in quotes: it stays the number that it is. Unsafe for a name that
    /// `spec.template.ports` has: the number is likely the one meant. Other names have no fix by
    /// machine.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio reference: "istioctl"
    "vm-port-name", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::PortName(meant) = fault.kind else {
        return None;
    };
    let written = workload_group::source(group, fault.span);
    let message = format!(
        "the probe of {} asks port {written}, which is no number: the API server refuses it",
        workload_group::title(group),
    );
    let help = match meant {
        Some(port) => format!("write {port}"),
        None => "write the number of the port".to_owned(),
    };
    let mut finding = workload_group::report(&RULE, group, fault, message, &help);
    finding.fix = meant.filter(|port| (1..=65535).contains(port)).map(|port| {
        let is_same = written.trim_matches(['"', '\'']) == port.to_string();
        let degree = if is_same {
            Applicability::Safe
        } else {
            Applicability::Unsafe
        };
        let change = Change::Set {
            route: group.route.join(&fault.within),
            value: Value::Int(port),
        };
        scene::fix(group, format!("write {port}"), degree, vec![change])
    });
    Some(finding)
}
