//! Rule `vm-header-name`.

use super::rule::declare_rule;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds header names in checks of virtual machines that are refused.
    ///
    /// ## What it checks
    /// The `httpHeaders` of a `WorkloadGroup`: a name that is missing, empty, no token of HTTP (a
    /// blank, a colon), or, for the schema of recent releases, made of other characters than
    /// letters, digits, `-` and `_`.
    ///
    /// ## Why it matters
    /// The object is refused, by istiod or by the API server. `istioctl x workload entry configure`
    /// passes the name on, and the agent cannot make such a request.
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
    ///       port: 8080
    ///       httpHeaders:
    ///         - name: ":authority"
    ///           value: reviews
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
    ///       port: 8080
    ///       httpHeaders:
    ///         - name: Host
    ///           value: reviews
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: nobody knows which header was meant.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-header-name", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let vm::FaultKind::HeaderName(by_istiod) = fault.kind else {
        return None;
    };
    let name = match group.node.at(&fault.within) {
        Some(_) => format!(
            "the invalid name {}",
            workload_group::source(group, fault.span)
        ),
        None => "no name".to_owned(),
    };
    let who = if by_istiod {
        "istiod"
    } else {
        "the schema of recent releases"
    };
    let message = format!(
        "a header of the probe of {} has {name}: {who} refuses it",
        workload_group::title(group),
    );
    Some(workload_group::report(
        &RULE,
        group,
        fault,
        message,
        "write a name of letters, digits and `-`; the host is the header `Host`",
    ))
}
