//! Rule `vm-field-type`.

use super::rule::declare_rule;
use super::yaml11_header_value::quote;
use super::{Scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds values in checks of virtual machines that have another type than the API wants.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup`: a text where a number belongs, a number or a boolean where a
    /// string belongs (the rules are those of YAML 1.1: `y`, `on` and `0x1F` are no strings), a
    /// mapping where a list belongs. Ports have `vm-port-name`.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object. `istioctl` stops too, except at numbers in quotes.
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
    ///         - name: X-Deep
    ///           value: y
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
    ///         - name: X-Deep
    ///           value: "y"
    /// ```
    ///
    /// ## Fix safety
    /// A header value is put in quotes: safe for `true`, `false` and decimal numbers, unsafe for
    /// other spellings. Everything else has no fix by machine.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-field-type", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    let title = workload_group::title(group);
    let finding = |message, help: &str| workload_group::report(&RULE, group, fault, message, help);
    match &fault.kind {
        vm::FaultKind::WrongType(reason) => {
            let field = workload_group::field(fault);
            let message = format!("`{field}` of {title} is refused by the API server: {reason}");
            let help = "write what the API wants; it refuses the whole object";
            Some(finding(message, help))
        }
        vm::FaultKind::HeaderValue(kind) => {
            let node = group.node.at(&fault.within)?;
            let text = node.text()?;
            let message = format!(
                "the probe of {title} is refused by the API server: a header has the value {text}, \
                 which is {kind} and no string",
            );
            let mut finding = finding(message, "");
            quote(&mut finding, group, group.route.join(&fault.within), node);
            Some(finding)
        }
        _ => None,
    }
}
