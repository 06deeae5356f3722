//! Rule `vm-unknown-field`.

use super::rule::declare_rule;
use super::suggest::is_close;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds fields in checks of virtual machines that do not exist.
    ///
    /// ## What it checks
    /// The fields of `spec` and `spec.probe` of a `WorkloadGroup` that the API does not have, such
    /// as `readinessProbe` in place of `probe`.
    ///
    /// ## Why it matters
    /// The API server drops the field without a word, and so does `istioctl x workload entry
    /// configure`; only `istioctl validate` stops at it. What it was to say never holds.
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
    ///     period: 5
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
    ///     periodSeconds: 5
    ///     httpGet:
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the name that was meant is a guess.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-unknown-field", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::UnknownField(known) = &fault.kind else {
        return None;
    };
    let name = workload_group::field(fault);
    let message = format!(
        "`{name}` of {} is no field of the API: the API server drops it without a word",
        workload_group::title(group),
    );
    let meant = known.iter().find(|known| is_meant(&name, known));
    let help = match meant {
        Some(known) => format!("write `{known}`"),
        None => format!("delete it, or use one of {}", known.join(", ")),
    };
    Some(workload_group::report(&RULE, group, fault, message, &help))
}

/// Of names that pods use, too.
fn is_meant(name: &str, known: &str) -> bool {
    let of_pods = known == "probe" && name.to_lowercase().ends_with("probe");
    let shortened = name.len() > 5 && known.starts_with(name);
    let snake = name.contains('_') && name.replace('_', "").eq_ignore_ascii_case(known);
    of_pods || shortened || snake || is_close(name, known)
}
