//! Rule `vm-scheme`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::{Change, Value};

declare_rule! {
    /// Finds schemes in checks of virtual machines that are neither HTTP nor HTTPS.
    ///
    /// ## What it checks
    /// The `scheme` of the probe of a `WorkloadGroup`: anything but `HTTP`, `HTTPS` and nothing.
    /// Case matters.
    ///
    /// ## Why it matters
    /// istiod and the API server refuse the object: `httpGet.scheme must be one of "HTTPS",
    /// "HTTP"`. `istioctl analyze` is silent and `istioctl x workload entry configure` passes it
    /// on.
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
    ///       scheme: http
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
    ///       scheme: HTTP
    /// ```
    ///
    /// ## Fix safety
    /// Safe for `http` in another case: the check is the same. `https` has no fix: agents since
    /// 1.24 verify the certificate, which you must want.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    "vm-scheme", Error, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let faults = workload_group::faults(scene);
    faults
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    if fault.kind != vm::FaultKind::Scheme {
        return None;
    }
    let written = workload_group::source(group, fault.span);
    let message = format!(
        "the probe of {} has the scheme {written}: istiod refuses it (`must be one of \"HTTPS\", \
         \"HTTP\"`)",
        workload_group::title(group),
    );
    let help = "write HTTP or HTTPS, in capitals";
    let mut finding = workload_group::report(&RULE, group, fault, message, help);
    let is_http = written
        .trim_matches(['"', '\''])
        .eq_ignore_ascii_case("http");
    finding.fix = is_http.then(|| {
        let change = Change::Set {
            route: group.route.join(&fault.within),
            value: Value::from("HTTP"),
        };
        scene::fix(group, "write HTTP", Applicability::Safe, vec![change])
    });
    Some(finding)
}
